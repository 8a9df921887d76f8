//! [`ExplainedWorkload`]: the explanation of a workload, with the changes that admit it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::admitting_change::PriorityClass;
use super::admitting_changes::{AdmittingChanges, admitting_changes};
use super::simulation::simulate;
use kueue_lab_api::v1beta2::Admission;
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::{Explanation, PendingVerdict, PendingVerdictKind};
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_reason::PendingReason;

/// The most Workloads of a cluster in which changes are tried out.
const MAX_WORKLOADS: usize = 2_000;

/// The explanation of a workload, with the changes that admit it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedWorkload {
    /// The explanation of the engine.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Its flavors, quota and topology domains, if it reserves quota.
    pub admission: Option<Admission>,
    /// The changes that admit it, if it is pending and the cluster is not too large to try them out.
    #[serde(flatten)]
    pub changes: AdmittingChanges,
}

/// Explains a workload of an engine, and tries out changes in copies of it. `None` if there is no such workload.
pub fn explain_workload(
    engine: &mut Engine,
    classes: &[PriorityClass],
    key: &WorkloadKey,
    now: Timestamp,
) -> Option<ExplainedWorkload> {
    let workload = engine.workload(key)?.clone();
    let explanation = engine.explain(key, now)?;
    // A stopped queue can be started.
    let can_change = |verdict: &PendingVerdict| {
        let is_stopped = matches!(
            verdict.reason,
            PendingReason::LocalQueueInactive { .. } | PendingReason::ClusterQueueInactive { .. }
        );
        verdict.kind != PendingVerdictKind::Held || is_stopped
    };
    let is_waiting = explanation.verdict.as_ref().is_some_and(can_change);
    let changes = match is_waiting && engine.workloads().count() <= MAX_WORKLOADS {
        true => {
            let workloads = std::slice::from_ref(&workload);
            // The pods of Workloads that are admitted in the copy count as ready, as those of `simulate`.
            let pods_ready = engine.config().block_admission_until_pods_ready;
            let simulation = simulate(engine, pods_ready, workloads, now);
            admitting_changes(engine, pods_ready, workloads, classes, &simulation, now)
        }
        false => AdmittingChanges::default(),
    };
    Some(ExplainedWorkload {
        explanation,
        admission: workload.status.admission.clone(),
        changes,
    })
}
