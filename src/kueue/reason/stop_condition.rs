//! [`StopCondition`]: the event at which a clock that runs on request is paused again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{CycleHead, HeadOutcome};

/// The event at which the clock is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopCondition {
    /// The next scheduling cycle, before it begins.
    Cycle,
    /// The next cycle that reserves quota for a Workload, before it begins.
    Admission,
    /// The next cycle that preempts a Workload, before it begins.
    Preemption,
    /// The next eviction of a Workload, after its condition is written.
    Eviction,
    /// The next Workload that is finished, after its condition is written.
    Finish,
}

impl StopCondition {
    /// All conditions.
    pub const ALL: [Self; 5] = [
        Self::Cycle,
        Self::Admission,
        Self::Preemption,
        Self::Eviction,
        Self::Finish,
    ];

    /// Its name in commands and objects.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cycle => "cycle",
            Self::Admission => "admission",
            Self::Preemption => "preemption",
            Self::Eviction => "eviction",
            Self::Finish => "finish",
        }
    }

    /// Whether the clock is paused before a cycle with these heads.
    pub fn is_met_by_cycle(self, heads: impl FnOnce() -> Vec<CycleHead>) -> bool {
        let any = |is_met: fn(&HeadOutcome) -> bool| heads().iter().any(|h| is_met(&h.outcome));
        match self {
            Self::Cycle => true,
            Self::Admission => any(|outcome| matches!(outcome, HeadOutcome::Admits { .. })),
            Self::Preemption => any(|outcome| matches!(outcome, HeadOutcome::Preempts { .. })),
            Self::Eviction | Self::Finish => false,
        }
    }
}

impl fmt::Display for StopCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no [`StopCondition`].
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("not an event to run to: {0:?}; use cycle, admission, preemption, eviction or finish")]
pub struct UnknownStopCondition(String);

impl FromStr for StopCondition {
    type Err = UnknownStopCondition;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|c| c.as_str() == text);
        named.ok_or_else(|| UnknownStopCondition(text.to_owned()))
    }
}
