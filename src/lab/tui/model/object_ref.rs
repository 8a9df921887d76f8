//! References to API objects.

use std::fmt;

use super::{Kind, ObjectKey};

/// A reference to an API object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Group and version, such as `batch/v1`.
    pub api_version: String,
    /// Kind, such as `Job`.
    pub kind: String,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl ObjectRef {
    /// A reference to an object of a watched kind.
    pub fn watched(kind: Kind, key: ObjectKey) -> Self {
        Self {
            api_version: kind.api_version().to_owned(),
            kind: kind.name().to_owned(),
            key,
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}
