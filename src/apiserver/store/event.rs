//! What happened to one object at one revision.

use std::sync::Arc;

use super::Object;

/// What sort of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The object is new.
    Added,
    /// The object was replaced.
    Modified,
    /// The object is gone.
    Deleted,
}

impl EventKind {
    /// The `type` of a watch event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One committed change.
#[derive(Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The object after the change; for a deletion its last state, at the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the change.
    pub before: Option<Arc<Object>>,
    /// What the object counted for when it was recorded.
    pub(super) size: usize,
}

impl Event {
    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.object.revision()
    }
}
