//! The operations of parameter expansions, such as `${name:-word}`. An evaluator expands the [`words`] of an operation,
//! and [`apply`] has the result.

use super::pattern;
use super::syntax::{Operation, Word};

/// How a word of an operation is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expansion {
    /// To a text.
    Text,
    /// To a pattern, in which quoted characters are literal.
    Pattern,
    /// To the value of an arithmetic expression, in decimal.
    Number,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operated {
    /// The text of the expansion.
    Text(String),
    /// The text of the expansion, which is also the new value of the variable.
    Assigned(String),
    /// The message of `${name:?message}` for an absent value.
    Error(String),
    /// There is no space for the text.
    OutOfSpace,
}

/// The words that an operation expands for a value, which is `None` if the variable is not set.
pub fn words<'o>(operation: &'o Operation, value: Option<&str>) -> Vec<(&'o Word, Expansion)> {
    let is_absent = |colon: bool| value.is_none_or(|value| colon && value.is_empty());
    match operation {
        Operation::Default { colon, word }
        | Operation::Assign { colon, word }
        | Operation::Error { colon, word }
            if is_absent(*colon) =>
        {
            vec![(word, Expansion::Text)]
        }
        Operation::Alternative { colon, word } if !is_absent(*colon) => {
            vec![(word, Expansion::Text)]
        }
        Operation::RemovePrefix { pattern, .. } | Operation::RemoveSuffix { pattern, .. } => {
            vec![(pattern, Expansion::Pattern)]
        }
        Operation::Replace { pattern, with, .. } => {
            vec![(pattern, Expansion::Pattern), (with, Expansion::Text)]
        }
        Operation::Substring { offset, length } => {
            let words = [Some(offset), length.as_ref()].into_iter().flatten();
            words.map(|word| (word, Expansion::Number)).collect()
        }
        _ => Vec::new(),
    }
}

/// The result of an operation with the texts of its [`words`]. `has_space` says whether a text of so many bytes is
/// permitted.
pub fn apply(
    operation: &Operation,
    value: Option<String>,
    texts: Vec<String>,
    has_space: impl FnOnce(usize) -> bool,
) -> Operated {
    let known = value.unwrap_or_default();
    let mut texts = texts.into_iter();
    let first = texts.next();
    match (operation, first) {
        (Operation::Length, _) => Operated::Text(known.chars().count().to_string()),
        (Operation::Default { .. } | Operation::Alternative { .. }, Some(word)) => {
            Operated::Text(word)
        }
        (Operation::Assign { .. }, Some(word)) => Operated::Assigned(word),
        (Operation::Error { .. }, Some(word)) => Operated::Error(match word.as_str() {
            "" => "parameter not set".to_owned(),
            _ => word,
        }),
        (Operation::Alternative { .. }, None) => Operated::Text(String::new()),
        (Operation::RemovePrefix { longest, .. }, Some(pattern)) => {
            Operated::Text(pattern::remove_prefix(&pattern, &known, *longest).to_owned())
        }
        (Operation::RemoveSuffix { longest, .. }, Some(pattern)) => {
            Operated::Text(pattern::remove_suffix(&pattern, &known, *longest).to_owned())
        }
        (Operation::Replace { all, .. }, Some(pattern)) => {
            let with = texts.next().unwrap_or_default();
            match pattern::replace(&pattern, &known, &with, *all, has_space) {
                Some(text) => Operated::Text(text),
                None => Operated::OutOfSpace,
            }
        }
        (Operation::Substring { .. }, Some(offset)) => {
            let number = |text: String| text.parse().unwrap_or(0);
            let length = texts.next().map(number);
            Operated::Text(pattern::substring(&known, number(offset), length))
        }
        _ => Operated::Text(known),
    }
}
