//! [`Past`]: the shown moment of the past.

use jiff::Timestamp;

/// What the UI shows of the past. The moment is the current lab time of the state.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The first moment.
    pub begin: Timestamp,
    /// The last moment.
    pub end: Timestamp,
    /// Whether the course is played.
    pub is_playing: bool,
    /// Lab seconds per second while it is played.
    pub speed: f64,
    /// Whether there is a present to return to; not for a recording.
    pub can_leave: bool,
}
