//! Values.

use std::cmp::Ordering;

use super::format::number_text;
use super::token::number_length;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Text(String),
    /// A text of the input, which is a number in comparisons if it looks like one.
    Input(String),
    /// A variable without a value.
    Unset,
}

impl Value {
    pub(super) fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) | Self::Input(text) => leading_number(text),
            Self::Unset => 0.0,
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Number(number) => number_text(*number),
            Self::Text(text) | Self::Input(text) => text.clone(),
            Self::Unset => String::new(),
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self.as_number() {
            Some(number) => number != 0.0,
            None => !self.text().is_empty(),
        }
    }

    /// The number of a value that compares as one.
    fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Unset => Some(0.0),
            Self::Text(_) => None,
            Self::Input(text) => {
                let text = text.trim();
                let length = number_length(text);
                (length > 0 && length == text.len()).then(|| leading_number(text))
            }
        }
    }

    /// Numbers are compared as numbers, other values as strings.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self.as_number(), other.as_number()) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => Some(self.text().cmp(&other.text())),
        }
    }
}

fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    text[..number_length(text)].parse().unwrap_or_default()
}
