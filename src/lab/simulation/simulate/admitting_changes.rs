//! [`admitting_changes`]: the cheapest changes that admit workloads.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::admitting_change::PriorityClass;
use super::changed_state::ChangedState;
use super::finish_search::finish_change;
use super::priority_search::priority_change;
use super::quota_search::quota_changes;
use super::setting_search::{setting_changes, started_queues};
use super::simulation::Simulation;
use super::verified_change::VerifiedChange;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::PendingVerdictKind;

/// The changes that were found, and the limits of the search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmittingChanges {
    /// The changes, each of which admits the workloads alone.
    pub admitting_changes: Vec<VerifiedChange>,
    /// The limits of the search that were reached, such as `16 of 40 quotas in flavor spot`. Without one,
    /// there are no other changes of these kinds.
    pub search_limits: Vec<String>,
}

/// The cheapest changes that admit workloads: queues that start, a higher limit or more quota, other policies of
/// flavorFungibility, topology requests and weights, a higher priority, or other workloads that finish. Each is verified by the engine on a copy of the state, with the preemptions of this run. Empty when the `simulation` admits
/// the workloads, or when no such change admits them.
pub fn admitting_changes(
    live: &Engine,
    pods_ready: bool,
    workloads: &[Arc<Workload>],
    classes: &[PriorityClass],
    simulation: &Simulation,
    now: Timestamp,
) -> AdmittingChanges {
    let mut found = AdmittingChanges::default();
    if simulation.all_admitted() {
        return found;
    }
    let state = ChangedState::new(live, pods_ready, workloads, now);
    started_queues(&state, &mut found);
    let pending = simulation.workloads.iter().filter(|wl| !wl.admitted);
    let mut verdicts = pending.filter_map(|wl| wl.verdict.as_ref());
    if verdicts.any(|verdict| verdict.kind == PendingVerdictKind::Held) {
        // Nothing else releases it.
        return found;
    }
    quota_changes(&state, simulation, &mut found);
    setting_changes(&state, &mut found);
    let priority = priority_change(&state, classes);
    found.admitting_changes.extend(priority);
    finish_change(&state, &mut found);
    found
}
