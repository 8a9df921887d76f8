//! [`TasSnapshots`]: the snapshots of all TAS flavors during a scheduling cycle.
//!
//! Must not depend on nodes or pods.

use std::collections::BTreeMap;

use super::TasGates;
use super::assumed_usage::AssumedUsage;
use super::pod_set_requests::{FindOptions, TasAssignmentsResult, WorkloadTasRequests};
use super::tas_flavor_snapshot::TasFlavorSnapshot;
use crate::resources::FlavorName;
use crate::workload::TasUsage;
use kueue_lab_reason::TasFailure;

/// The snapshots of all TAS flavors, by flavor.
#[derive(Clone, Debug, Default)]
pub struct TasSnapshots {
    pub(super) flavors: BTreeMap<FlavorName, TasFlavorSnapshot>,
    pub(super) gates: TasGates,
}

/// Positions in the journals. Simulated usage of a flavor that is not listed is rolled back
/// completely.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint(Vec<(FlavorName, usize)>);

impl TasSnapshots {
    /// The snapshot of a flavor.
    pub fn get(&self, flavor: &str) -> Option<&TasFlavorSnapshot> {
        self.flavors.get(flavor)
    }

    /// The snapshot of a flavor, mutably.
    pub fn get_mut(&mut self, flavor: &str) -> Option<&mut TasFlavorSnapshot> {
        self.flavors.get_mut(flavor)
    }

    /// The flavors with their snapshots.
    pub fn iter(&self) -> impl Iterator<Item = (&FlavorName, &TasFlavorSnapshot)> {
        self.flavors.iter()
    }

    /// Adds usage, journaled. Ignores flavors without snapshot. Flavors with common nodes do not
    /// see it during the cycle.
    pub fn add_usage(&mut self, usage: &TasUsage) {
        for (flavor, domains) in usage {
            if let Some(snapshot) = self.flavors.get_mut(flavor) {
                snapshot.add_usage(domains);
            }
        }
    }

    /// Removes usage, journaled.
    pub fn remove_usage(&mut self, usage: &TasUsage) {
        for (flavor, domains) in usage {
            if let Some(snapshot) = self.flavors.get_mut(flavor) {
                snapshot.remove_usage(domains);
            }
        }
    }

    /// Whether the domains have free capacity for the usage, each domain checked independently.
    pub fn fits(&self, usage: &TasUsage) -> bool {
        usage.iter().all(|(flavor, domains)| {
            domains.is_empty() || self.get(flavor).is_some_and(|s| s.fits(domains))
        })
    }

    /// The current positions in the journals.
    pub fn checkpoint(&self) -> Checkpoint {
        let marks = self.flavors.iter().map(|(f, s)| (f.clone(), s.mark()));
        Checkpoint(marks.filter(|(_, mark)| *mark > 0).collect())
    }

    /// Rolls back to a checkpoint.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) {
        for (flavor, snapshot) in &mut self.flavors {
            let mark = checkpoint.0.iter().find(|(f, _)| f == flavor);
            snapshot.undo_to(mark.map_or(0, |(_, mark)| *mark));
        }
    }

    /// Topology assignments for the pod sets of one Workload, flavor by flavor.
    pub fn find_topology_assignments(
        &mut self,
        requests: &WorkloadTasRequests<'_>,
        options: FindOptions<'_>,
    ) -> TasAssignmentsResult {
        let mut result = TasAssignmentsResult::default();
        let mut shared = AssumedUsage::default();
        for (flavor, requests) in requests {
            let Some(snapshot) = self.flavors.get_mut(flavor) else {
                for request in requests {
                    let flavor = flavor.to_string();
                    result.failed(&request.pod_set.name, TasFailure::NoTopology { flavor });
                }
                continue;
            };
            // Flavors with common nodes see each other's assumed usage.
            let mut own = AssumedUsage::default();
            let assumed = if self.gates.overlapping && snapshot.is_lowest_level_node() {
                &mut shared
            } else {
                &mut own
            };
            let found = snapshot.find_topology_assignments_for_flavor(requests, options, assumed);
            result.0.extend(found.0);
        }
        result
    }
}
