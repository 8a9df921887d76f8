//! [`simulate`]: adds workloads to a copy of a cluster's state.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::live_versions::live_versions;
use super::preempted_workload::PreemptedWorkload;
use super::settle::{RepeatedPreemption, Unsettled, settle};
use crate::EngineDriver;
use kueue_lab_api::v1beta2::{Admission, Workload};
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::{DeletedObject, Explanation, ObjectChange, PendingVerdict};
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// The most workloads ahead in the queue that are listed.
const MAX_AHEAD: usize = 10;

/// The simulated result of a workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedWorkload {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its admission, if it reserves quota.
    pub admission: Option<Admission>,
    /// Whether it is admitted. Admission checks are answered Ready.
    pub admitted: bool,
    /// The admission checks that it passes first.
    pub admission_checks: Vec<String>,
    /// The reason that it is pending otherwise.
    pub verdict: Option<PendingVerdict>,
    /// The first workloads ahead of it in its ClusterQueue.
    pub behind: Vec<WorkloadKey>,
    /// The whole decision on a pending workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// The result of a simulation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Simulation {
    /// The workloads.
    pub workloads: Vec<SimulatedWorkload>,
    /// All preemptions that follow, in order.
    pub preemptions: Vec<PreemptedWorkload>,
    /// Other workloads that were to be admitted without the new ones, and are not with them.
    pub displaced: Vec<WorkloadKey>,
    /// Workloads of the cluster that the new ones replace: with the same name, or of the same job.
    pub replaced: Vec<WorkloadKey>,
    /// Whether the state settles. Otherwise the results are those until a preemption repeated, or after some
    /// rounds.
    pub settles: bool,
    /// The preemption that repeats, if the state does not settle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated_preemption: Option<RepeatedPreemption>,
}

impl Simulation {
    /// Whether all workloads are admitted.
    pub fn all_admitted(&self) -> bool {
        self.workloads.iter().all(|wl| wl.admitted)
    }
}

/// Adds workloads to a copy of a cluster's state, and runs scheduling cycles until nothing changes.
/// Workloads that the state has already are not added again; earlier versions of them are removed.
pub fn simulate(
    live: &Engine,
    pods_ready: bool,
    workloads: &[Arc<Workload>],
    now: Timestamp,
) -> Simulation {
    let mut without = EngineDriver::new(live.clone(), pods_ready);
    let mut with = without.clone();
    // A state that does not settle without the new workloads is reported with them.
    let _ = settle(&mut without, &mut now.clone());
    let mut at = now;
    let replaced = live_versions(live, workloads);
    for key in &replaced {
        with.engine_mut().apply(
            ObjectChange::Delete(DeletedObject::Workload(key.clone())),
            at,
        );
    }
    // The decisions without the new workloads come first.
    let before = settle(&mut with, &mut at);
    for wl in workloads {
        if with.engine().workload(&predicates::key(wl)).is_none() {
            with.upsert_workload(wl.clone(), at);
        }
    }
    let after = settle(&mut with, &mut at);
    let settles = before.is_ok() && after.is_ok();
    let (events, unsettled) = match after {
        Ok(events) => (events, before.err()),
        Err(unsettled) => (unsettled.events.clone(), Some(unsettled)),
    };
    let repeated_preemption = unsettled.and_then(|Unsettled { repeated, .. }| repeated);
    let is_admitted = |driver: &EngineDriver, key: &WorkloadKey| {
        let wl = driver.engine().workload(key);
        wl.is_some_and(|wl| predicates::is_admitted(wl) && !predicates::is_finished(wl))
    };
    let others = without.engine().workloads().map(|wl| predicates::key(wl));
    let displaced = others.filter(|key| {
        !replaced.contains(key) && is_admitted(&without, key) && !is_admitted(&with, key)
    });
    let displaced = displaced.collect();
    let simulated = workloads.iter().map(|wl| simulated(&mut with, wl, at));
    Simulation {
        workloads: simulated.collect(),
        preemptions: PreemptedWorkload::of_events(events),
        displaced,
        replaced,
        settles,
        repeated_preemption,
    }
}

/// The result of a workload.
fn simulated(driver: &mut EngineDriver, wl: &Arc<Workload>, now: Timestamp) -> SimulatedWorkload {
    let key = predicates::key(wl);
    let latest = driver.engine().workload(&key).unwrap_or(wl).clone();
    let admitted = predicates::is_admitted(&latest);
    let explanation = match predicates::has_quota_reservation(&latest) {
        true => None,
        false => driver.engine_mut().explain(&key, now),
    };
    let queue = explanation.as_ref().and_then(|e| e.cluster_queue.clone());
    let position = explanation.as_ref().and_then(|e| e.position);
    let behind = match (queue, position) {
        (Some(queue), Some(position)) => {
            let shown = position.min(MAX_AHEAD);
            let ahead = driver.engine().pending_positions(&queue, 0, shown);
            let ahead = ahead.unwrap_or_default().into_iter();
            ahead
                .map(|ahead| predicates::key(&ahead.workload))
                .collect()
        }
        _ => Vec::new(),
    };
    let checks = latest.status.admission_checks.iter();
    SimulatedWorkload {
        workload: key,
        admission: latest.status.admission.clone(),
        admitted,
        admission_checks: checks.map(|check| check.name.clone()).collect(),
        verdict: explanation.as_ref().and_then(|e| e.verdict.clone()),
        behind,
        explanation,
    }
}
