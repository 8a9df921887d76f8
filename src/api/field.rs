//! Field errors: what is wrong with one field of an object, worded as Kubernetes words it.

use std::fmt;

use serde::Serialize;

/// The way to a field, such as `spec.resourceGroups[0].flavors[1].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(String);

impl Path {
    /// A way that begins with a field of the object.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A field of this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self::new(name)
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    /// An item of this list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of this map, or an item of this list by its key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The text of the way.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What sort of error; each has its own wording and its own reason in a Status cause.
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
    /// A reference to something that is not there.
    NotFound,
    /// A string longer than allowed.
    TooLong,
    /// A list with more items than allowed.
    TooMany,
    /// It could not be found out whether the value is right; trying again may help.
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
            Self::Internal => "InternalError",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {}", self.message())]
pub struct FieldError {
    /// What sort of error.
    pub kind: FieldErrorKind,
    /// Which field.
    pub path: Path,
    /// The offending value as JSON, where the wording shows one.
    pub bad_value: Option<String>,
    /// The rest of the sentence.
    pub detail: String,
}

/// What is wrong with an object; empty when nothing is.
pub type FieldErrors = Vec<FieldError>;

impl FieldError {
    fn new(kind: FieldErrorKind, path: &Path, bad_value: Option<String>, detail: String) -> Self {
        Self {
            kind,
            path: path.clone(),
            bad_value,
            detail,
        }
    }

    /// `path: Required value: detail`.
    pub fn required(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail.into())
    }

    /// `path: Invalid value: bad: detail`.
    pub fn invalid<V: Serialize + ?Sized>(path: &Path, bad: &V, detail: impl Into<String>) -> Self {
        Self::new(
            FieldErrorKind::Invalid,
            path,
            Some(json(bad)),
            detail.into(),
        )
    }

    /// `path: Invalid value: detail`, where the value is too large to show.
    pub fn invalid_without_value(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, None, detail.into())
    }

    /// `path: Forbidden: detail`.
    pub fn forbidden(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail.into())
    }

    /// `path: Duplicate value: bad`.
    pub fn duplicate<V: Serialize + ?Sized>(path: &Path, bad: &V) -> Self {
        Self::new(
            FieldErrorKind::Duplicate,
            path,
            Some(json(bad)),
            String::new(),
        )
    }

    /// `path: Not found: bad`.
    pub fn not_found<V: Serialize + ?Sized>(path: &Path, bad: &V) -> Self {
        Self::new(
            FieldErrorKind::NotFound,
            path,
            Some(json(bad)),
            String::new(),
        )
    }

    /// `path: Unsupported value: bad: supported values: "a", "b"`.
    pub fn not_supported<V, S>(path: &Path, bad: &V, supported: &[S]) -> Self
    where
        V: Serialize + ?Sized,
        S: AsRef<str>,
    {
        let names: Vec<String> = supported
            .iter()
            .map(|s| format!("{:?}", s.as_ref()))
            .collect();
        let detail = if names.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", names.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(json(bad)), detail)
    }

    /// `path: Too long: may not be more than N bytes`.
    pub fn too_long(path: &Path, max: usize) -> Self {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {bytes}");
        Self::new(FieldErrorKind::TooLong, path, None, detail)
    }

    /// `path: Too many: N: must have at most M items`.
    pub fn too_many(path: &Path, actual: usize, max: usize) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        Self::new(
            FieldErrorKind::TooMany,
            path,
            Some(actual.to_string()),
            detail,
        )
    }

    /// `path: Internal error: detail`.
    pub fn internal(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Internal, path, None, detail.into())
    }

    /// The message without the path, as a Status cause carries it.
    pub fn message(&self) -> String {
        let mut text = String::from(self.kind.label());
        if let Some(bad) = &self.bad_value {
            text.push_str(": ");
            text.push_str(bad);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

/// A value as the wording shows it.
fn json<V: Serialize + ?Sized>(value: &V) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// All errors in one line: one as it is, several in brackets, none twice.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_kubernetes_words_them() {
        let path = Path::new("spec")
            .child("groups")
            .index(0)
            .child("usage")
            .key("cpu");
        assert_eq!(path.as_str(), "spec.groups[0].usage[cpu]");
        let all = [
            FieldError::required(&path, "must be set"),
            FieldError::invalid(&path, "-1", "must be positive"),
            FieldError::invalid(&path, &3, "too big"),
            FieldError::duplicate(&path, "a\"b"),
            FieldError::not_supported(&path, "x", &["b", "a"]),
            FieldError::not_found(&path, "x"),
            FieldError::forbidden(&path, ""),
            FieldError::too_long(&path, 63),
            FieldError::too_many(&path, 17, 16),
            FieldError::internal(&path, "no answer"),
        ];
        let texts: Vec<String> = all.iter().map(FieldError::message).collect();
        assert_eq!(
            texts,
            [
                "Required value: must be set",
                "Invalid value: \"-1\": must be positive",
                "Invalid value: 3: too big",
                "Duplicate value: \"a\\\"b\"",
                "Unsupported value: \"x\": supported values: \"b\", \"a\"",
                "Not found: \"x\"",
                "Forbidden",
                "Too long: may not be more than 63 bytes",
                "Too many: 17: must have at most 16 items",
                "Internal error: no answer",
            ]
        );
    }

    #[test]
    fn several_errors_are_bracketed_and_deduplicated() {
        let path = Path::new("spec");
        let one = FieldError::required(&path, "");
        let two = FieldError::forbidden(&path, "");
        assert_eq!(
            aggregate(&[one.clone(), one.clone()]),
            "spec: Required value"
        );
        assert_eq!(
            aggregate(&[one, two]),
            "[spec: Required value, spec: Forbidden]"
        );
    }
}
