//! [`LocalQueueUsage`]: the usage of the workloads of a LocalQueue.
//!
//! Must not depend on pending workloads.

use super::{Cache, CacheError};
use crate::resources::{Amount, FlavorResourceQuantities, FlavorResourceTable, Requests};
use crate::workload::LocalQueueKey;

/// The usage of the workloads of a LocalQueue in its ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalQueueUsage {
    /// The number of workloads that reserve quota.
    pub reserving_workloads: usize,
    /// The number of admitted workloads.
    pub admitted_workloads: usize,
    /// The reserved quota.
    pub reserved: FlavorResourceQuantities,
    /// The quota reserved by admitted workloads.
    pub admitted: FlavorResourceQuantities,
}

impl LocalQueueUsage {
    /// Adds or removes the usage of a workload that reserves quota.
    pub(super) fn update(&mut self, usage: &FlavorResourceQuantities, admitted: bool, add: bool) {
        update_flavor_usage(&mut self.reserved, usage, add);
        add_or_subtract_one(&mut self.reserving_workloads, add);
        if admitted {
            update_flavor_usage(&mut self.admitted, usage, add);
            add_or_subtract_one(&mut self.admitted_workloads, add);
        }
    }

    /// The usage of admitted workloads by resource, summed over flavors.
    pub(crate) fn admitted_by_resource(&self, frs: &FlavorResourceTable) -> Requests {
        let mut sum = Requests::new();
        for (fr, amount) in self.admitted.iter() {
            sum.add_one(frs.resource(fr), amount.value());
        }
        sum
    }
}

impl Cache {
    /// Adds a LocalQueue to a ClusterQueue, with the usage of its reserving workloads. Does nothing
    /// when the ClusterQueue does not exist.
    ///
    /// # Errors
    /// When it is added already.
    pub fn add_local_queue(&mut self, queue: &str, key: &LocalQueueKey) -> Result<(), CacheError> {
        let Some(node) = self.node_of(queue) else {
            return Ok(());
        };
        let Some(queue) = self.cluster_queue_by_node(node) else {
            return Ok(());
        };
        if queue.local_queues.contains_key(key) {
            return Err(CacheError::LocalQueueExists);
        }
        let mut usage = LocalQueueUsage::default();
        for workload in queue
            .reserving_workloads
            .iter()
            .filter_map(|workload| self.workloads.get(workload.idx))
        {
            if workload.info.local_queue == *key {
                usage.update(&workload.usage, workload.admitted, true);
            }
        }
        if let Some(queue) = self.cluster_queue_by_node_mut(node) {
            queue.local_queues.insert(key.clone(), usage);
        }
        Ok(())
    }

    /// Removes a LocalQueue from a ClusterQueue.
    pub(crate) fn delete_local_queue(&mut self, queue: &str, key: &LocalQueueKey) {
        if let Some(node) = self.node_of(queue)
            && let Some(queue) = self.cluster_queue_by_node_mut(node)
        {
            queue.local_queues.remove(key);
        }
    }
}

pub(super) fn update_flavor_usage(
    total: &mut FlavorResourceQuantities,
    usage: &FlavorResourceQuantities,
    add: bool,
) {
    for (fr, amount) in usage.iter() {
        let signed = if add {
            amount.value()
        } else {
            amount.value().saturating_neg()
        };
        total.add(fr, Amount::new(signed));
    }
}

pub(super) fn add_or_subtract_one(count: &mut usize, add: bool) {
    *count = if add {
        *count + 1
    } else {
        count.saturating_sub(1)
    };
}
