//! [`GoInTime`]: a change of the shown moment.

use jiff::Timestamp;
use kueue_lab_recording::{Direction, LandmarkKind};

/// A change of the shown moment. In the present all but [`GoInTime::Leave`] go to the past first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoInTime {
    /// By seconds of lab time; negative is back.
    Seconds(i64),
    /// To the next or previous change of an object.
    Change(Direction),
    /// To the next or previous decision of one of these kinds.
    Decision(Direction, &'static [LandmarkKind]),
    /// To a time.
    Time(Timestamp),
    /// Plays the course from here, or stops.
    TogglePlaying,
    /// Plays by this factor faster.
    Speed(f64),
    /// Returns to the present.
    Leave,
}
