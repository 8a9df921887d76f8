//! Field errors: what is wrong with one field of an object, worded as Kubernetes words it.

use std::fmt;

use serde_json::Value;

/// The kind of a [`FieldError`]; each has its own wording and its own `status_reason` in a Status cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldErrorKind {
    /// A value that must be there is not.
    Required,
    /// A value of the right type that is not allowed.
    Invalid,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// A value that is not one of an enumeration.
    NotSupported,
    /// A field that may not be set or changed here.
    Forbidden,
    /// A reference to something that does not exist.
    NotFound,
    /// A string longer than allowed.
    TooLong,
    /// A list with more items than allowed.
    TooMany,
    /// A list with fewer items than needed.
    TooFew,
    /// A string shorter than needed.
    TooShort,
    /// A value of the wrong type.
    TypeInvalid,
    /// A fault of the server's own.
    Internal,
}

impl FieldErrorKind {
    /// The `status_reason` of the Status cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotFound => "FieldValueNotFound",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TooShort => "FieldValueTooShort",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    /// The words the message of the error starts with.
    pub fn description(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::TooShort => "Too short",
            Self::Internal => "Internal error",
        }
    }
}

/// One field of an object and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What sort of error.
    pub kind: FieldErrorKind,
    /// The field's path, such as `spec.containers[0].name`; empty for the object itself.
    pub path: String,
    /// The offending value where the wording shows one.
    pub bad_value: Option<Value>,
    /// The offending value as it is to be shown, where its JSON form is not what clients see (a Go
    /// struct keeps the order of its fields, an internal type its own names).
    pub bad_value_text: Option<String>,
    /// The rest of the sentence.
    pub detail: String,
}

impl FieldError {
    /// An error of any kind.
    pub fn new(
        kind: FieldErrorKind,
        path: impl Into<String>,
        bad_value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: path.into(),
            bad_value,
            bad_value_text: None,
            detail: detail.into(),
        }
    }

    /// The same error with the offending value shown as `text`, unquoted.
    #[must_use]
    pub fn with_bad_value_text(mut self, text: impl Into<String>) -> Self {
        self.bad_value_text = Some(text.into());
        self
    }

    /// `path: Invalid value: detail`, the value itself left out.
    pub fn invalid_without_value(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, None, detail)
    }

    /// `path: Too long: may not be more than N bytes`.
    pub fn too_long(path: impl Into<String>, max_bytes: usize) -> Self {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max_bytes} {unit}");
        Self::new(FieldErrorKind::TooLong, path, None, detail)
    }

    /// `path: Too many: N: must have at most M items`.
    pub fn too_many(path: impl Into<String>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::new(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
    }

    /// `path: Not found: bad`.
    pub fn not_found(path: impl Into<String>, bad: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::NotFound, path, Some(bad.into()), "")
    }

    /// `path: Required value: detail`.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// `path: Invalid value: bad: detail`.
    pub fn invalid(
        path: impl Into<String>,
        bad: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(bad.into()), detail)
    }

    /// `path: Forbidden: detail`.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// `path: Duplicate value: bad`.
    pub fn duplicate(path: impl Into<String>, bad: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(bad.into()), "")
    }

    /// `path: Unsupported value: bad: supported values: "a", "b"`, in the order given.
    pub fn not_supported(
        path: impl Into<String>,
        bad: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let names: Vec<String> = supported.iter().map(|s| go_quote(s)).collect();
        let detail = if names.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", names.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(bad.into()), detail)
    }

    /// The message without the path, as a Status cause carries it.
    pub fn message(&self) -> String {
        let mut s = String::from(self.kind.description());
        if self.shows_value() {
            match (&self.bad_value_text, &self.bad_value) {
                (Some(text), _) => s.extend([": ", text]),
                (None, Some(Value::String(v))) => s.extend([": ", &go_quote(v)]),
                (None, Some(other)) => s.extend([": ", &other.to_string()]),
                (None, None) => {}
            }
        }
        if !self.detail.is_empty() {
            s.push_str(": ");
            s.push_str(&self.detail);
        }
        s
    }

    fn shows_value(&self) -> bool {
        use FieldErrorKind::*;
        matches!(
            self.kind,
            Invalid | TypeInvalid | Duplicate | NotSupported | NotFound | TooMany | TooFew
        )
    }
}

/// A string in double quotes as Go's `%q` prints it.
pub fn go_quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() || (c.is_whitespace() && c != ' ') => match u32::from(c) {
                wide @ 0x10000.. => out.push_str(&format!("\\U{wide:08x}")),
                short => out.push_str(&format!("\\u{short:04x}")),
            },
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return write!(f, "<nil>: {}", self.message());
        }
        write!(f, "{}: {}", self.path, self.message())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_match_kubernetes() {
        let e = FieldError::not_supported("spec.restartPolicy", "Never", &["Always"]);
        let want = r#"spec.restartPolicy: Unsupported value: "Never": supported values: "Always""#;
        assert_eq!(e.to_string(), want);
        let e = FieldError::not_supported("m", "Foo", &["NonIndexed", "Indexed"]);
        assert!(
            e.to_string()
                .ends_with(r#"supported values: "NonIndexed", "Indexed""#)
        );
        let e = FieldError::invalid("spec.x", json!({"b": 1, "a": "y"}), "no");
        assert_eq!(
            e.to_string(),
            r#"spec.x: Invalid value: {"a":"y","b":1}: no"#
        );
        let e = FieldError::duplicate("t[1]", json!(null)).with_bad_value_text(r#"{"Key":"a"}"#);
        assert_eq!(e.to_string(), r#"t[1]: Duplicate value: {"Key":"a"}"#);
        let e = FieldError::too_many("x", 5, 1);
        assert_eq!(e.to_string(), "x: Too many: 5: must have at most 1 item");
        let e = FieldError::invalid_without_value("s", "no");
        assert_eq!(e.to_string(), "s: Invalid value: no");
    }

    #[test]
    fn quotes_like_go() {
        assert_eq!(go_quote("a\"b\\c\n\u{1}é'"), r#""a\"b\\c\n\x01é'""#);
    }
}
