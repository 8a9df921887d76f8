//! What the workloads of a LocalQueue hold.
//!
//! Must not know of pending workloads.

use crate::resources::{FlavorResources, FrAmounts, Requests};

/// What the workloads of a LocalQueue hold in its ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalQueueUsage {
    /// How many hold quota.
    pub reserving_workloads: usize,
    /// How many of them are admitted.
    pub admitted_workloads: usize,
    /// The quota held.
    pub reserved: FrAmounts,
    /// The part of it held by admitted workloads.
    pub admitted: FrAmounts,
}

impl LocalQueueUsage {
    /// The usage of admitted workloads by resource, over all flavors.
    pub fn admitted_by_resource(&self, frs: &FlavorResources) -> Requests {
        let mut sum = Requests::new();
        for (fr, amount) in self.admitted.iter() {
            sum.add_one(frs.resource(fr), amount.value());
        }
        sum
    }
}
