//! Usage in the status of ClusterQueues, Cohorts and LocalQueues.

use super::{ActiveCondition, Cache, CacheError, ClusterQueue, Drs, LocalQueueUsage};
use crate::config::EngineConfig;
use crate::resources::{Amount, FlavorResourceQuantities, ResourceName};
use crate::workload::LocalQueueKey;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_api::constants::active;
use kueue_lab_api::v1beta2::{
    FlavorUsage, LocalQueueFlavorUsage, LocalQueueResourceUsage, ResourceUsage,
};

/// The usage of a ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterQueueUsageStats {
    /// Reserved quota, by flavor.
    pub reserved: Vec<FlavorUsage>,
    /// The number of workloads that reserve quota.
    pub reserving_workloads: usize,
    /// Quota of admitted workloads, by flavor.
    pub admitted: Vec<FlavorUsage>,
    /// The number of admitted workloads.
    pub admitted_workloads: usize,
    /// The weighted share, if fair sharing is enabled.
    pub weighted_share: Option<i64>,
}

/// The usage of a LocalQueue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalQueueUsageStats {
    /// Reserved quota, by flavor.
    pub reserved: Vec<LocalQueueFlavorUsage>,
    /// The number of workloads that reserve quota.
    pub reserving_workloads: usize,
    /// Quota of admitted workloads, by flavor.
    pub admitted: Vec<LocalQueueFlavorUsage>,
    /// The number of admitted workloads.
    pub admitted_workloads: usize,
}

/// Iterates the flavors of a ClusterQueue and, for each, its resources by name with their usage.
fn by_flavor<T>(
    cache: &Cache,
    queue: &ClusterQueue,
    amounts: impl Fn(crate::resources::FlavorResourceId) -> Amount,
    make: impl Fn(ResourceName, Amount, Amount) -> T,
) -> Vec<(String, Vec<T>)> {
    let node = &cache.hierarchy[queue.node];
    let mut out = Vec::new();
    for group in queue.groups.iter() {
        let mut resources = group.covered.clone();
        resources.sort_by_key(|r| r.as_str());
        for flavor in &group.flavors {
            let list = resources.iter().map(|&resource| {
                let fr = cache.hierarchy.frs.get(flavor, resource);
                let used = fr.map_or(Amount::ZERO, &amounts);
                let nominal = fr.map_or(Amount::ZERO, |fr| node.resources.quota(fr).nominal);
                make(resource, used, nominal)
            });
            out.push((flavor.to_string(), list.collect()));
        }
    }
    out
}

impl Cache {
    /// The Active condition of a ClusterQueue.
    pub fn active_condition(&self, name: &str, config: &EngineConfig) -> ActiveCondition {
        match self.cluster_queue(name) {
            Some(queue) => {
                queue.active_condition(&config.gates, |flavor| self.has_topology(flavor))
            }
            None => ActiveCondition {
                active: false,
                reason: active::NOT_FOUND.into(),
                message: "ClusterQueue not found".to_owned(),
            },
        }
    }

    /// The usage of a ClusterQueue.
    ///
    /// # Errors
    /// When the ClusterQueue does not exist.
    pub fn cluster_queue_usage(
        &mut self,
        name: &str,
        config: &EngineConfig,
    ) -> Result<ClusterQueueUsageStats, CacheError> {
        let node = self.node_of(name).ok_or(CacheError::ClusterQueueNotFound)?;
        let weighted_share = config
            .fair_sharing_enabled()
            .then(|| Drs::of(&mut self.hierarchy, node, None).rounded_weighted_share());
        let queue = self
            .cluster_queue_by_node(node)
            .ok_or(CacheError::ClusterQueueNotFound)?;
        let in_cohort = self.hierarchy.has_parent(node);
        let flavors = |amounts: &dyn Fn(crate::resources::FlavorResourceId) -> Amount| {
            let make = |resource: ResourceName, used: Amount, nominal: Amount| {
                let over = used.minus(nominal);
                let borrowed = if in_cohort && over.is_positive() {
                    config.formatter.quantity(resource, over.value())
                } else {
                    Quantity("0".to_owned())
                };
                ResourceUsage {
                    name: resource.as_str().to_owned(),
                    total: config.formatter.quantity(resource, used.value()),
                    borrowed,
                }
            };
            by_flavor(self, queue, amounts, make)
                .into_iter()
                .map(|(name, resources)| FlavorUsage { name, resources })
                .collect::<Vec<_>>()
        };
        Ok(ClusterQueueUsageStats {
            reserved: flavors(&|fr| self.hierarchy[node].resources.usage(fr)),
            reserving_workloads: queue.reserving_workloads.len(),
            admitted: flavors(&|fr| queue.admitted_usage.get(fr)),
            admitted_workloads: queue.admitted_workloads,
            weighted_share,
        })
    }

    /// The weighted share of a Cohort.
    ///
    /// # Errors
    /// When the Cohort does not exist.
    pub fn cohort_weighted_share(&mut self, name: &str) -> Result<i64, CacheError> {
        let node = self
            .hierarchy
            .cohort(name)
            .ok_or(CacheError::CohortNotFound)?;
        Ok(Drs::of(&mut self.hierarchy, node, None).rounded_weighted_share())
    }

    /// The usage of a LocalQueue.
    ///
    /// # Errors
    /// When it is not in the cache, or its ClusterQueue does not exist.
    pub fn local_queue(
        &self,
        queue: &str,
        key: &LocalQueueKey,
    ) -> Result<&LocalQueueUsage, CacheError> {
        let queue = self
            .cluster_queue(queue)
            .ok_or(CacheError::ClusterQueueNotFound)?;
        queue
            .local_queues
            .get(key)
            .ok_or(CacheError::LocalQueueNotFound)
    }

    /// The usage of a LocalQueue for its status; empty when its ClusterQueue does not exist.
    ///
    /// # Errors
    /// When it is not in the cache.
    pub fn local_queue_usage(
        &self,
        queue: &str,
        key: &LocalQueueKey,
        config: &EngineConfig,
    ) -> Result<LocalQueueUsageStats, CacheError> {
        let Some(queue) = self.cluster_queue(queue) else {
            return Ok(Default::default());
        };
        let usage = queue
            .local_queues
            .get(key)
            .ok_or(CacheError::LocalQueueNotFound)?;
        let flavors = |amounts: &FlavorResourceQuantities| {
            let make = |resource: ResourceName, used: Amount, _| LocalQueueResourceUsage {
                name: resource.as_str().to_owned(),
                total: config.formatter.quantity(resource, used.value()),
            };
            by_flavor(self, queue, |fr| amounts.get(fr), make)
                .into_iter()
                .map(|(name, resources)| LocalQueueFlavorUsage { name, resources })
                .collect()
        };
        Ok(LocalQueueUsageStats {
            reserved: flavors(&usage.reserved),
            reserving_workloads: usage.reserving_workloads,
            admitted: flavors(&usage.admitted),
            admitted_workloads: usage.admitted_workloads,
        })
    }
}
