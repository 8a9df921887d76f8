//! [`FieldError`]: upstream's `field.Error`.

use std::collections::HashSet;
use std::fmt;

use crate::bad_value::go_quote;
use crate::{BadValue, FieldErrorKind, Path};

/// A validation error of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The error type.
    pub kind: FieldErrorKind,
    /// The path of the field.
    pub path: Path,
    /// The value as the message shows it.
    pub bad_value: Option<String>,
    /// The rest of the message.
    pub detail: String,
}

/// The errors of one object, in the order in which they were found.
pub type FieldErrors = Vec<FieldError>;

impl FieldError {
    /// An error of any kind.
    pub fn new<V: BadValue>(
        kind: FieldErrorKind,
        path: impl Into<Path>,
        bad_value: Option<V>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: path.into(),
            bad_value: bad_value.map(BadValue::into_text),
            detail: detail.into(),
        }
    }

    fn without_value(
        kind: FieldErrorKind,
        path: impl Into<Path>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(kind, path, None::<&str>, detail)
    }

    /// The same error with the value shown as `text`, unquoted: a Go struct, or an internal type
    /// with field names of its own.
    #[must_use]
    pub fn with_bad_value_text(mut self, text: impl Into<String>) -> Self {
        self.bad_value = Some(text.into());
        self
    }

    /// `path: Required value: detail`.
    pub fn required(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::without_value(FieldErrorKind::Required, path, detail)
    }

    /// `path: Invalid value: value: detail`.
    pub fn invalid(path: impl Into<Path>, value: impl BadValue, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value), detail)
    }

    /// One [`invalid`](Self::invalid) error for each detail.
    pub fn invalid_for_each(
        path: impl Into<Path>,
        value: &str,
        details: Vec<String>,
    ) -> FieldErrors {
        if details.is_empty() {
            return FieldErrors::new();
        }
        let path = path.into();
        details
            .into_iter()
            .map(|detail| Self::invalid(&path, value, detail))
            .collect()
    }

    /// `path: Invalid value: detail`, without the value (upstream's `OmitValueType`).
    pub fn invalid_without_value(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::without_value(FieldErrorKind::Invalid, path, detail)
    }

    /// `path: Forbidden: detail`.
    pub fn forbidden(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::without_value(FieldErrorKind::Forbidden, path, detail)
    }

    /// `path: Duplicate value: value`.
    pub fn duplicate(path: impl Into<Path>, value: impl BadValue) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value), "")
    }

    /// `path: Not found: value`.
    pub fn not_found(path: impl Into<Path>, value: impl BadValue) -> Self {
        Self::new(FieldErrorKind::NotFound, path, Some(value), "")
    }

    /// `path: Unsupported value: value: supported values: "a", "b"`, in the order given.
    pub fn not_supported<S: AsRef<str>>(
        path: impl Into<Path>,
        value: impl BadValue,
        supported: &[S],
    ) -> Self {
        let names: Vec<String> = supported.iter().map(|s| go_quote(s.as_ref())).collect();
        let detail = if names.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", names.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(value), detail)
    }

    /// `path: Too long: may not be more than N bytes`.
    pub fn too_long(path: impl Into<Path>, max_bytes: usize) -> Self {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max_bytes} {unit}");
        Self::without_value(FieldErrorKind::TooLong, path, detail)
    }

    /// `path: Too many: N: must have at most M items`.
    pub fn too_many(path: impl Into<Path>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::new(FieldErrorKind::TooMany, path, Some(actual), detail)
    }

    /// `path: Internal error: detail`.
    pub fn internal(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::without_value(FieldErrorKind::Internal, path, detail)
    }

    /// The message without the path, as a Status cause carries it (upstream's `ErrorBody`).
    pub fn message(&self) -> String {
        let mut text = String::from(self.kind.description());
        if let Some(value) = self.bad_value.as_ref().filter(|_| self.kind.shows_value()) {
            text.extend([": ", value]);
        }
        if !self.detail.is_empty() {
            text.extend([": ", &self.detail]);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.path.as_str() {
            "" => "<nil>",
            path => path,
        };
        write!(f, "{path}: {}", self.message())
    }
}

impl std::error::Error for FieldError {}

/// All errors in one line: one as it is, several in brackets, without repetitions (upstream's
/// `ErrorList.ToAggregate`).
pub fn aggregate(errors: &[FieldError]) -> String {
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let mut seen = HashSet::new();
    let texts = all.iter().map(String::as_str);
    let texts: Vec<&str> = texts.filter(|text| seen.insert(*text)).collect();
    match texts.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_worded_as_in_kubernetes() {
        let path = Path::new("spec")
            .child("groups")
            .index(0)
            .child("usage")
            .key("cpu");
        assert_eq!(path.as_str(), "spec.groups[0].usage[cpu]");
        for (error, message) in [
            (
                FieldError::required(&path, "must be set"),
                "Required value: must be set",
            ),
            (
                FieldError::invalid(&path, "-1", "must be positive"),
                "Invalid value: \"-1\": must be positive",
            ),
            (
                FieldError::invalid(&path, &3, "too big"),
                "Invalid value: 3: too big",
            ),
            (
                FieldError::invalid(&path, json!({"b": 1, "a": "y"}), "no"),
                "Invalid value: {\"a\":\"y\",\"b\":1}: no",
            ),
            (
                FieldError::invalid_without_value(&path, "no"),
                "Invalid value: no",
            ),
            (
                FieldError::duplicate(&path, "a\"b"),
                "Duplicate value: \"a\\\"b\"",
            ),
            (
                FieldError::duplicate(&path, json!(null)).with_bad_value_text("{\"Key\":\"a\"}"),
                "Duplicate value: {\"Key\":\"a\"}",
            ),
            (
                FieldError::not_supported(&path, "x", &["b", "a"]),
                "Unsupported value: \"x\": supported values: \"b\", \"a\"",
            ),
            (FieldError::not_found(&path, "x"), "Not found: \"x\""),
            (FieldError::forbidden(&path, ""), "Forbidden"),
            (
                FieldError::too_long(&path, 63),
                "Too long: may not be more than 63 bytes",
            ),
            (
                FieldError::new(FieldErrorKind::TooLong, &path, Some("x"), "no"),
                "Too long: no",
            ),
            (
                FieldError::too_many(&path, 17, 16),
                "Too many: 17: must have at most 16 items",
            ),
            (
                FieldError::too_many(&path, 5, 1),
                "Too many: 5: must have at most 1 item",
            ),
            (
                FieldError::internal(&path, "no answer"),
                "Internal error: no answer",
            ),
        ] {
            assert_eq!(error.message(), message);
            assert_eq!(error.to_string(), format!("{path}: {message}"));
        }
        let whole = FieldError::required("", "");
        assert_eq!(whole.to_string(), "<nil>: Required value");
    }

    #[test]
    fn several_errors_are_bracketed_and_deduplicated() {
        let one = FieldError::required("spec", "");
        let two = FieldError::forbidden("spec", "");
        let repeated = [one.clone(), one.clone()];
        assert_eq!(aggregate(&repeated), "spec: Required value");
        let different = [one, two];
        assert_eq!(
            aggregate(&different),
            "[spec: Required value, spec: Forbidden]"
        );
    }
}
