//! The last tried flavors of a Workload, from which the next attempt resumes.

use std::collections::BTreeMap;

use super::equivalence_hash::EquivalenceHash;
use crate::feature_gates::Gates;
use crate::resources::ResourceName;

/// The last tried flavors of a Workload, and the state they were computed for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssignmentClusterQueueState {
    /// For each pod set and resource, the index of the last tried flavor; -1 when all were tried.
    pub last_tried_flavor_idx: Vec<BTreeMap<ResourceName, i32>>,
    /// The allocatable resource generation of the ClusterQueue.
    pub cluster_queue_generation: i64,
    /// The scheduling cycle.
    pub scheduling_cycle: i64,
    /// The scheduling hash of the Workload.
    pub scheduling_hash: EquivalenceHash,
}

impl AssignmentClusterQueueState {
    /// Whether flavors are left to try.
    pub fn pending_flavors(&self) -> bool {
        self.last_tried_flavor_idx
            .iter()
            .flat_map(|m| m.values())
            .any(|&idx| idx != -1)
    }

    /// Whether the scheduling hash is unchanged. Unknown hashes always match.
    pub(crate) fn matches_scheduling_shape(&self, current: &EquivalenceHash) -> bool {
        let unknown = EquivalenceHash::Unknown;
        self.scheduling_hash == unknown || *current == unknown || self.scheduling_hash == *current
    }

    /// The index of the flavor to try next for a resource of a pod set.
    pub(crate) fn next_flavor_to_try(
        state: Option<&AssignmentClusterQueueState>,
        pod_set: usize,
        resource: ResourceName,
        gates: &Gates,
    ) -> usize {
        if !gates.flavor_fungibility {
            return 0;
        }
        let tried = state.and_then(|s| s.last_tried_flavor_idx.get(pod_set)?.get(&resource));
        tried.map_or(0, |&idx| usize::try_from(idx + 1).unwrap_or(0))
    }

    /// Whether the state is outdated, so that the search starts over.
    pub fn is_outdated(
        &self,
        cluster_queue_generation: i64,
        scheduling_cycle: i64,
        hash: &EquivalenceHash,
        gates: &Gates,
    ) -> bool {
        if gates.flavor_fungibility_preserve_scan_progress {
            if !self.matches_scheduling_shape(hash) {
                return true;
            }
            // The generation changes with every admission in the cohort; the state of the previous
            // cycle is kept anyway.
            if scheduling_cycle - self.scheduling_cycle <= 1 {
                return false;
            }
        }
        cluster_queue_generation > self.cluster_queue_generation
    }
}
