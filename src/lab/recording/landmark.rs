//! [`Landmark`]: a decision about a Workload, to find its moment.

use std::sync::Arc;

use jiff::Timestamp;

use super::object_id::{ObjectId, ObjectVersion};
use super::shared_value::SharedValue;

/// A decision about a Workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LandmarkKind {
    /// It was admitted.
    Admitted,
    /// It was preempted.
    Preempted,
    /// It was evicted for another reason.
    Evicted,
    /// It finished.
    Finished,
}

/// A decision about a Workload, and when it was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landmark {
    /// The lab time of the observation.
    pub time: Timestamp,
    /// What was decided.
    pub kind: LandmarkKind,
    /// The Workload.
    pub workload: ObjectId,
}

/// The decisions that a new version of a Workload has.
pub(crate) fn landmarks(
    old: Option<&Arc<ObjectVersion>>,
    new: &Arc<ObjectVersion>,
) -> impl Iterator<Item = Landmark> {
    let became = |condition: &str| {
        let since = transition(&new.value, condition);
        since.is_some() && since != old.and_then(|old| transition(&old.value, condition))
    };
    // A version that is the first one observed says nothing about its past.
    let is_known = old.is_some();
    let preempted = became("Preempted");
    let decided = [
        (LandmarkKind::Preempted, preempted),
        (LandmarkKind::Evicted, became("Evicted") && !preempted),
        (LandmarkKind::Admitted, became("Admitted")),
        (LandmarkKind::Finished, became("Finished")),
    ];
    let (time, workload) = (new.time, new.id.clone());
    let decided = decided.into_iter().filter(move |(_, is)| *is && is_known);
    decided.map(move |(kind, _)| Landmark {
        time,
        kind,
        workload: workload.clone(),
    })
}

/// The time of the last transition of a condition that is true.
fn transition<'a>(workload: &'a SharedValue, condition: &str) -> Option<&'a str> {
    let conditions = workload.at("/status/conditions")?.items();
    let found = conditions
        .iter()
        .find(|found| found.text("/type") == condition)?;
    (found.text("/status") == "True").then(|| found.text("/lastTransitionTime"))
}
