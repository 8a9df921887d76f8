//! Watch events.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::Object;

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEventType {
    /// The object was created.
    Added,
    /// The object was replaced.
    Modified,
    /// The object was removed.
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
    /// The type of the change.
    pub event_type: WatchEventType,
    /// The object after the change; for a deletion its last state, at the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the change.
    pub prev_object: Option<Arc<Object>>,
    /// The size of the object when the event was recorded, in bytes.
    pub(super) size: usize,
    /// When the event was recorded.
    pub(super) record_time: Timestamp,
}

impl WatchEvent {
    /// The time since the event was recorded; negative if the clock was set back.
    pub(super) fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.record_time)
    }

    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.object.revision()
    }
}
