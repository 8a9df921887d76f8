//! [`PreemptedWorkload`]: a workload that is preempted, by which preemptor and why.

use serde::{Deserialize, Serialize};

use crate::DriverEvent;
use kueue_lab_engine::workload::WorkloadKey;

/// A workload that is preempted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreemptedWorkload {
    /// The workload.
    pub workload: WorkloadKey,
    /// The reason, such as `InClusterQueue`.
    pub reason: String,
    /// The preemptor, if it is known.
    pub preemptor: Option<WorkloadKey>,
}

impl PreemptedWorkload {
    /// The preemptions among events, in order.
    pub(super) fn of_events(events: Vec<DriverEvent>) -> Vec<Self> {
        let preemptions = events.into_iter().filter_map(|event| match event {
            DriverEvent::Evicted {
                workload,
                preemptor,
                reason,
            } => Some(Self {
                workload,
                reason,
                preemptor,
            }),
            DriverEvent::Admitted(_) => None,
        });
        preemptions.collect()
    }
}
