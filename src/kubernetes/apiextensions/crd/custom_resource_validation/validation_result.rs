//! The result of a validation, go-openapi's `validate.Result`.

use std::collections::HashSet;

use serde_json::Value;

use kueue_lab_field::{FieldError, FieldErrorKind};

/// One validation error.
#[derive(Clone, Debug)]
pub(super) struct ValidationError {
    /// The path relative to the validated value; `None` for errors without a path.
    pub(super) name: Option<String>,
    pub(super) kind: FieldErrorKind,
    pub(super) bad_value: Option<Value>,
    pub(super) detail: String,
}

impl ValidationError {
    pub(super) fn without_path(detail: String) -> Self {
        Self {
            name: None,
            kind: FieldErrorKind::Invalid,
            bad_value: Some("".into()),
            detail,
        }
    }

    pub(super) fn of(
        kind: FieldErrorKind,
        path: &str,
        bad_value: Option<Value>,
        detail: String,
    ) -> Self {
        Self {
            name: Some(path.into()),
            kind,
            bad_value,
            detail,
        }
    }

    pub(super) fn invalid(path: &str, bad_value: impl Into<Value>, detail: String) -> Self {
        Self::of(
            FieldErrorKind::Invalid,
            path,
            Some(bad_value.into()),
            detail,
        )
    }

    pub(super) fn into_error(self, prefix: &str) -> FieldError {
        let name = self.name.unwrap_or_default();
        let name = name.strip_prefix('.').unwrap_or(&name);
        let path = match (prefix, name) {
            (prefix, "") => prefix.to_string(),
            ("", name) => name.to_string(),
            (prefix, name) => format!("{prefix}.{name}"),
        };
        FieldError::new(self.kind, path, self.bad_value, self.detail)
    }
}

/// Errors and the number of successful checks; of several failed alternatives, the one with most
/// matches is reported.
#[derive(Debug, Default)]
pub(super) struct ValidationResult {
    pub(super) errors: Vec<ValidationError>,
    pub(super) match_count: u32,
    /// The errors by name, kind and detail.
    known: HashSet<(Option<String>, FieldErrorKind, String)>,
}

impl ValidationResult {
    /// One error.
    pub(super) fn of(error: ValidationError) -> Self {
        let mut result = Self::default();
        result.add(error);
        result
    }

    pub(super) fn add(&mut self, error: ValidationError) {
        let identity = (error.name.clone(), error.kind, error.detail.clone());
        if self.known.insert(identity) {
            self.errors.push(error);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.match_count += other.match_count;
        other.errors.into_iter().for_each(|f| self.add(f));
    }

    pub(super) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}
