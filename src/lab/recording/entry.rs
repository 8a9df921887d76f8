//! [`Entry`]: an observation.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::object_id::{ObjectId, ObjectVersion};

/// An observation, in the order of observation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The lab time of the observation; not before that of the entry before.
    pub time: Timestamp,
    /// What was observed.
    pub change: Change,
}

/// What was observed.
#[derive(Clone, Debug)]
pub enum Change {
    /// An object was added or modified.
    Put {
        /// The new version.
        version: Arc<ObjectVersion>,
        /// The change, as docs/recording.md describes it.
        delta: Value,
        /// The memory of the parts of the version that it does not share with others, in bytes.
        bytes: usize,
    },
    /// An object was deleted.
    Delete(ObjectId),
    /// Lab time runs at this speed from now on, in lab seconds per second.
    Clock {
        /// Lab seconds per second.
        speed: f64,
        /// Whether lab time is paused.
        is_paused: bool,
    },
    /// The objects of a kind cannot be observed from now on, with the reason; without one they can again.
    Gap {
        /// The index of the kind.
        kind: u16,
        /// The reason; `None` at the end of the gap.
        reason: Option<Arc<str>>,
    },
    /// Time has passed.
    Time,
    /// The recording has ended regularly.
    End,
}
