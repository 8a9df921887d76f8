//! Field errors: what is wrong with one field of an object, worded as Kubernetes words it.

use std::fmt;

use serde_json::Value;

/// The kind of a [`FieldError`]; each has its own wording and its own `reason` in a Status cause.
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
    /// A value of the wrong type.
    TypeInvalid,
    /// A fault of the server's own.
    Internal,
}

impl FieldErrorKind {
    /// The `reason` of the Status cause.
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
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    /// The words the message of the error starts with.
    pub fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not found",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
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
    pub bad: Option<Value>,
    /// The rest of the sentence.
    pub detail: String,
}

impl FieldError {
    /// An error of any kind.
    pub fn new(
        kind: FieldErrorKind,
        path: impl Into<String>,
        bad: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, path: path.into(), bad, detail: detail.into() }
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

    /// `path: Unsupported value: bad: supported values: "a", "b"`.
    pub fn not_supported(
        path: impl Into<String>,
        bad: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let mut names: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        names.sort();
        let detail = if names.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", names.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(bad.into()), detail)
    }

    /// The message without the path, as a Status cause carries it.
    pub fn message(&self) -> String {
        let mut s = String::from(self.kind.words());
        if let (Some(bad), true) = (&self.bad, self.shows_value()) {
            s.push_str(": ");
            match bad {
                Value::String(v) => s.push_str(&format!("{v:?}")),
                other => s.push_str(&other.to_string()),
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
        matches!(self.kind, Invalid | TypeInvalid | Duplicate | NotSupported | NotFound)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return write!(f, "<nil>: {}", self.message());
        }
        write!(f, "{}: {}", self.path, self.message())
    }
}
