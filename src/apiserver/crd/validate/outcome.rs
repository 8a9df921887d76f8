//! What a validation came to.

use serde_json::Value;

use crate::field::{FieldError, FieldErrorKind};

/// One fault, as the validator sees it.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// The path below the validated value; `None` for faults that name none.
    pub(super) name: Option<String>,
    pub(super) kind: FieldErrorKind,
    pub(super) bad: Option<Value>,
    pub(super) detail: String,
}

impl Fault {
    pub(super) fn plain(detail: String) -> Self {
        Self {
            name: None,
            kind: FieldErrorKind::Invalid,
            bad: Some("".into()),
            detail,
        }
    }

    pub(super) fn of(kind: FieldErrorKind, path: &str, bad: Option<Value>, detail: String) -> Self {
        Self {
            name: Some(path.into()),
            kind,
            bad,
            detail,
        }
    }

    pub(super) fn invalid(path: &str, bad: impl Into<Value>, detail: String) -> Self {
        Self::of(FieldErrorKind::Invalid, path, Some(bad.into()), detail)
    }

    pub(super) fn into_error(self, prefix: &str) -> FieldError {
        let name = self.name.unwrap_or_default();
        let name = name.strip_prefix('.').unwrap_or(&name);
        let path = match (prefix, name) {
            (prefix, "") => prefix.to_string(),
            ("", name) => name.to_string(),
            (prefix, name) => format!("{prefix}.{name}"),
        };
        FieldError::new(self.kind, path, self.bad, self.detail)
    }
}

/// Faults, and how much was right: of several alternatives the best fitting is reported.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) faults: Vec<Fault>,
    pub(super) matches: u32,
}

impl Outcome {
    pub(super) fn add(&mut self, fault: Fault) {
        let same =
            |f: &Fault| f.name == fault.name && f.kind == fault.kind && f.detail == fault.detail;
        if !self.faults.iter().any(same) {
            self.faults.push(fault);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        other.faults.into_iter().for_each(|f| self.add(f));
    }

    pub(super) fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }
}
