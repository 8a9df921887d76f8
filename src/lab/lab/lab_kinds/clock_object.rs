//! The kind `Clock`: the clock of the lab, with one object [`CLOCK`].

use kube::core::{ApiResource, DynamicObject};
use serde::{Deserialize, Serialize};

use super::definition::api_resource;
use crate::lab_clock::LabClockState;
use kueue_lab_reason::StopCondition;

/// The name of the object.
pub const CLOCK: &str = "lab";

/// The spec of a `Clock`. The lab writes what holds now; a client sets what it wants to change.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ClockSpec {
    /// Whether lab time stands still.
    pub paused: bool,
    /// Lab seconds per second; 0 pauses.
    pub speed: f64,
    /// The event at which a running clock is paused; none runs on.
    pub until: Option<StopCondition>,
}

/// The status of a `Clock`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClockStatus {
    /// The generation that this status answers.
    pub observed_generation: i64,
    /// The reason that the last request was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// One sentence about the state.
    pub summary: String,
    /// The state.
    #[serde(flatten)]
    pub state: LabClockState,
}

impl ClockSpec {
    /// The resource of the kind.
    pub fn api_resource() -> ApiResource {
        api_resource("Clock", "clocks")
    }

    /// The spec of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["spec"]).unwrap_or_default()
    }

    /// The spec that a clock of this state has.
    pub(super) fn of_state(state: &LabClockState) -> Self {
        Self {
            paused: state.paused,
            speed: state.speed,
            until: state.until,
        }
    }
}

impl ClockStatus {
    /// The status of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["status"]).unwrap_or_default()
    }
}
