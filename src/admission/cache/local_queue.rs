//! What the workloads of a LocalQueue hold.
//!
//! Must not know of pending workloads.

use crate::resources::{FlavorResourceQuantities, FlavorResourceTable, Requests};

/// What the workloads of a LocalQueue hold in its ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalQueueUsage {
    /// How many hold quota.
    pub reserving_workloads: usize,
    /// How many of them are admitted.
    pub admitted_workloads: usize,
    /// The quota held.
    pub reserved: FlavorResourceQuantities,
    /// The part of it held by admitted workloads.
    pub admitted: FlavorResourceQuantities,
}

impl LocalQueueUsage {
    /// The usage of admitted workloads by resource, over all flavors.
    pub fn admitted_by_resource(&self, frs: &FlavorResourceTable) -> Requests {
        let mut sum = Requests::new();
        for (fr, amount) in self.admitted.iter() {
            sum.add_one(frs.resource(fr), amount.value());
        }
        sum
    }
}
