//! [`FieldErrorKind`]: upstream's `field.ErrorType`.

/// The kind of a [`FieldError`](crate::FieldError); each has its own wording and its own `reason`
/// in a Status cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldErrorKind {
    /// A required value is missing.
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
    /// A list with fewer items than required.
    TooFew,
    /// A string shorter than required.
    TooShort,
    /// A value of the wrong type.
    TypeInvalid,
    /// The value could not be validated; a retry may succeed.
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
            Self::TooFew => "FieldValueTooFew",
            Self::TooShort => "FieldValueTooShort",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    /// The start of the message.
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

    /// Whether the message shows the value.
    pub(crate) fn shows_value(self) -> bool {
        matches!(
            self,
            Self::Invalid
                | Self::TypeInvalid
                | Self::Duplicate
                | Self::NotSupported
                | Self::NotFound
                | Self::TooMany
                | Self::TooFew
        )
    }
}
