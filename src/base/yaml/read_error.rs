//! Messages of type errors.

use std::fmt;

use serde::de::{self, Unexpected};

use super::{Position, TypeMismatch, closest};

/// An error, and the field path and position once an enclosing value has set them.
#[derive(Clone, Debug)]
pub(super) struct ReadError {
    location: Option<(String, Position)>,
    message: String,
}

impl ReadError {
    /// Sets the field path, unless an inner value has set it.
    pub(super) fn within(mut self, path: &str, at: Position) -> Self {
        self.location.get_or_insert_with(|| (path.to_owned(), at));
        self
    }

    pub(super) fn into_type_mismatch(self, fallback: Position) -> TypeMismatch {
        let (path, at) = self.location.unwrap_or((String::new(), fallback));
        TypeMismatch {
            at,
            path,
            message: self.message,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            location: None,
            message: message.to_string(),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!(
            "expected {}, found {}",
            wanted(expected),
            words(found)
        ))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(unknown("field", field, expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(unknown("value", variant, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!("the field {field:?} is missing"))
    }
}

fn unknown(what: &str, word: &str, expected: &'static [&'static str]) -> String {
    let mut text = format!("unknown {what} {word:?}");
    if let Some(guess) = closest(word, expected.iter().copied()) {
        text.push_str(&format!("; did you mean {guess:?}?"));
    } else if !expected.is_empty() {
        let known: Vec<_> = expected.iter().map(|e| format!("{e:?}")).collect();
        text.push_str(&format!("; known are {}", known.join(", ")));
    }
    text
}

/// What a type expects, without Rust's terms.
fn wanted(expected: &dyn de::Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a sequence" => "a list".into(),
        "a map" => "a mapping".into(),
        _ if text.starts_with("struct ") => "a mapping".into(),
        _ => text,
    }
}

fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(b) => format!("the boolean {b}"),
        Unexpected::Unsigned(n) => format!("the number {n}"),
        Unexpected::Signed(n) => format!("the number {n}"),
        Unexpected::Float(n) => format!("the number {n}"),
        Unexpected::Str(s) => format!("the string {s:?}"),
        Unexpected::Unit => "nothing".into(),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map => "a mapping".into(),
        other => other.to_string(),
    }
}
