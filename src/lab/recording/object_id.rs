//! [`ObjectId`] and [`ObjectVersion`].

use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_controller_runtime::ObjectKey;

use super::shared_value::SharedValue;

/// Kind, namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The index of the kind in the recording's list of kinds.
    pub kind: u16,
    /// Namespace and name.
    pub key: Arc<ObjectKey>,
}

/// A version of an object.
#[derive(Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Which object.
    pub id: ObjectId,
    /// When it was observed, in lab time.
    pub time: Timestamp,
    /// The object, without `metadata.managedFields`.
    pub value: SharedValue,
}
