//! What happened to one object at one revision.

use std::sync::Arc;

use super::Object;

/// What sort of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEventType {
    /// The object is new.
    Added,
    /// The object was replaced.
    Modified,
    /// The object is gone.
    Deleted,
}

impl WatchEventType {
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
pub struct WatchEvent {
    /// What happened.
    pub event_type: WatchEventType,
    /// The object after the change; for a deletion its last state, at the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the change.
    pub prev_object: Option<Arc<Object>>,
    /// What the object counted for when it was recorded.
    pub(super) size: usize,
}

impl WatchEvent {
    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.object.revision()
    }
}
