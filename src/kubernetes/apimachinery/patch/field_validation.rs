//! The `fieldValidation` query parameter.

/// Handling of unknown and duplicate fields in a request (`fieldValidation`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and warn; the default.
    #[default]
    Warn,
    /// Reject the request.
    Strict,
}

impl FieldValidation {
    /// Parses the query parameter; `None` for an unsupported value.
    pub fn of(parameter: &str) -> Option<Self> {
        match parameter {
            "" | "Warn" => Some(Self::Warn),
            "Ignore" => Some(Self::Ignore),
            "Strict" => Some(Self::Strict),
            _ => None,
        }
    }
}
