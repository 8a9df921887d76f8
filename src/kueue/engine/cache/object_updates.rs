//! Updates of the cache from ClusterQueues, Cohorts, ResourceFlavors, AdmissionChecks and
//! Topologies.
//!
//! Must not change workloads; see [`super::reserving_workloads`].

use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use super::Cache;
use super::cluster_queue::FlavorFungibilityConfig;
use super::cluster_queue::{
    ClusterQueue, ConcurrentAdmission, QueueStatus, ReservingWorkload, ResourceGroup,
    admission_checks,
};
use super::cluster_queue_active::AdmissionCheckInfo;
use super::preemption_policies::PreemptionPolicies;
use crate::config::EngineConfig;
use crate::fair_weight::fair_weight;
use crate::workload::Info;
use kueue_lab_api::v1beta2::{
    self as api, AdmissionCheck, Cohort, ResourceFlavor, StopPolicy, Topology,
};
use kueue_lab_component_helpers::label_selector::{Selector, SelectorError};
use kueue_lab_quota_tree::quotas;
use kueue_lab_quota_tree::{CohortHasCycle, HierarchyNodeId};

/// The error of an update of the cache, which failed or was applied in part.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CacheError {
    /// The ClusterQueue exists.
    #[error("ClusterQueue already exists")]
    ClusterQueueExists,
    /// The ClusterQueue does not exist.
    #[error("cluster queue not found")]
    ClusterQueueNotFound,
    /// The LocalQueue exists.
    #[error("queue already exists")]
    LocalQueueExists,
    /// The LocalQueue does not exist.
    #[error("queue not found")]
    LocalQueueNotFound,
    /// The Cohort does not exist.
    #[error("cohort not found")]
    CohortNotFound,
    /// The cohorts form a cycle; quota is not updated until it is resolved.
    #[error(transparent)]
    Cycle(#[from] CohortHasCycle),
    /// The namespace selector is invalid.
    #[error(transparent)]
    Selector(#[from] SelectorError),
}

/// Names of ClusterQueues.
pub type QueueNames = BTreeSet<Arc<str>>;

impl Cache {
    /// Adds a ClusterQueue.
    ///
    /// # Errors
    /// When it exists. When its cohort is in a cycle or its selector is invalid it is added, but
    /// inactive.
    pub fn add_cluster_queue(
        &mut self,
        cq: &api::ClusterQueue,
        config: &EngineConfig,
    ) -> Result<(), CacheError> {
        let name = cq.metadata.name.as_deref().unwrap_or_default();
        if self.queues.contains_key(name) {
            return Err(CacheError::ClusterQueueExists);
        }
        let node = self.hierarchy.insert_cluster_queue(name);
        if self.by_node.len() <= node.index() {
            self.by_node.resize_with(node.index() + 1, || None);
        }
        let mut queue = ClusterQueue::new(name, node);
        queue.admission_mode = cq
            .spec
            .admission_scope
            .as_ref()
            .and_then(|s| s.admission_mode);
        self.queues.insert(queue.name.clone(), node);
        self.by_node[node.index()] = Some(Box::new(queue));
        self.hierarchy.set_parent(node, &cq.spec.cohort_name);
        self.apply_cluster_queue_spec(node, cq, None, config)
    }

    /// Updates a ClusterQueue.
    ///
    /// # Errors
    /// When it does not exist. When its cohort is in a cycle or its selector is invalid, the rest
    /// of its spec is not applied.
    pub fn update_cluster_queue(
        &mut self,
        cq: &api::ClusterQueue,
        config: &EngineConfig,
    ) -> Result<(), CacheError> {
        let name = cq.metadata.name.as_deref().unwrap_or_default();
        let node = self.node_of(name).ok_or(CacheError::ClusterQueueNotFound)?;
        let old = self
            .hierarchy
            .parent(node)
            .map(|p| self.hierarchy[p].name.clone());
        self.hierarchy.set_parent(node, &cq.spec.cohort_name);
        self.apply_cluster_queue_spec(node, cq, old.as_deref(), config)
    }

    fn apply_cluster_queue_spec(
        &mut self,
        node: HierarchyNodeId,
        cq: &api::ClusterQueue,
        old_parent: Option<&str>,
        config: &EngineConfig,
    ) -> Result<(), CacheError> {
        let spec = &cq.spec;
        let quotas = quotas(&spec.resource_groups, &mut self.hierarchy.frs);
        let groups = ResourceGroup::from_api(&spec.resource_groups);
        let moved = old_parent.unwrap_or_default() != spec.cohort_name;
        let mut changed = self.hierarchy.set_quotas(node, &quotas);
        changed |= self.hierarchy.generation(node) == 0;
        let Some(queue) = self.cluster_queue_by_node_mut(node) else {
            return Err(CacheError::ClusterQueueNotFound);
        };
        changed |= queue.groups != groups;
        queue.groups = groups;
        if changed || moved {
            if let Some(old) = old_parent.filter(|_| moved) {
                self.update_cohort_tree_resources_if_no_cycle(old);
            }
            if self.hierarchy.has_parent(node) {
                self.hierarchy.update_cohort_tree_resources(node)?;
            } else {
                self.hierarchy.update_cluster_queue_resource_node(node);
            }
        }

        let selector = Selector::from_api(spec.namespace_selector.as_ref())?;
        self.hierarchy[node].weight = fair_weight(spec.fair_sharing.as_ref());
        if let Some(queue) = self.cluster_queue_by_node_mut(node) {
            queue.namespace_selector = selector;
            queue.inactive_reasons.stopped = spec.stop_policy() != StopPolicy::None;
            queue.checks = admission_checks(spec);
            queue.preemption = PreemptionPolicies::from_spec(spec.preemption.as_ref());
            queue.fungibility =
                FlavorFungibilityConfig::from_spec(spec.flavor_fungibility.as_ref());
            queue.admission_mode = spec.admission_scope.as_ref().and_then(|s| s.admission_mode);
            if config.gates.concurrent_admission {
                queue.concurrent_admission =
                    spec.concurrent_admission_policy
                        .as_ref()
                        .map(|p| ConcurrentAdmission {
                            last_acceptable_flavor: p
                                .migration
                                .constraints
                                .as_ref()
                                .and_then(|c| c.last_acceptable_flavor_name.clone()),
                        });
            }
        }
        self.update_queue_status(node, config);
        Ok(())
    }

    /// Updates the resources of the tree of a cohort, if it exists and is in no cycle.
    fn update_cohort_tree_resources_if_no_cycle(&mut self, name: &str) {
        if let Some(cohort) = self.hierarchy.cohort(name) {
            // Nothing is updated in a cycle.
            let _ = self.hierarchy.update_cohort_tree_resources(cohort);
        }
    }

    /// Updates the status of a ClusterQueue; true when it became active.
    fn update_queue_status(&mut self, node: HierarchyNodeId, config: &EngineConfig) -> bool {
        let Some(mut queue) = self.by_node.get_mut(node.index()).and_then(Option::take) else {
            return false;
        };
        let before = queue.status;
        queue.update_flavor_metadata(&self.flavors);
        queue.update_check_metadata(&self.checks);
        queue.update_status(&config.gates, |flavor| self.has_topology(flavor));
        let became_active = before == QueueStatus::Pending && queue.is_active();
        let initialized = !queue.tas_flavors.is_empty()
            && queue
                .tas_flavors
                .keys()
                .all(|flavor| self.has_topology(flavor));
        let sync = initialized && !queue.is_tas_synced;
        queue.is_tas_synced = initialized;
        let workloads = if sync {
            queue.reserving_workloads.clone()
        } else {
            Vec::new()
        };
        self.by_node[node.index()] = Some(queue);
        // Syncs the TAS usage of workloads that were added before the topology.
        for ReservingWorkload { idx, .. } in workloads {
            if let Some(info) = self.workload(idx).map(|w| w.info.clone()) {
                self.add_reserving_workload(node, Info::new(info.obj.clone(), config), config);
            }
        }
        became_active
    }

    fn update_cluster_queues(&mut self, config: &EngineConfig) -> QueueNames {
        let nodes: Vec<(Arc<str>, HierarchyNodeId)> = self
            .queues
            .iter()
            .map(|(name, &node)| (name.clone(), node))
            .collect();
        nodes
            .into_iter()
            .filter(|&(_, node)| self.update_queue_status(node, config))
            .map(|(n, _)| n)
            .collect()
    }

    /// Marks a ClusterQueue as terminating.
    pub fn terminate_cluster_queue(&mut self, name: &str) {
        if let Some(node) = self.node_of(name)
            && let Some(queue) = self.cluster_queue_by_node_mut(node)
        {
            queue.status = QueueStatus::Terminating;
        }
    }

    /// Deletes a ClusterQueue with its reserving workloads.
    pub(crate) fn delete_cluster_queue(&mut self, name: &str) {
        let Some(node) = self.queues.remove(name) else {
            return;
        };
        let parent = self
            .hierarchy
            .parent(node)
            .map(|p| self.hierarchy[p].name.clone());
        if let Some(queue) = self.by_node.get_mut(node.index()).and_then(Option::take) {
            for ReservingWorkload { idx, .. } in queue.reserving_workloads {
                self.workloads.remove(idx);
            }
        }
        self.hierarchy.remove_cluster_queue(node);
        if let Some(parent) = parent {
            self.update_cohort_tree_resources_if_no_cycle(&parent);
        }
    }

    /// Adds or updates a Cohort.
    ///
    /// # Errors
    /// When it is in a cycle; quota is not updated then.
    pub fn upsert_cohort(&mut self, cohort: &Cohort) -> Result<(), CacheError> {
        let name = cohort.metadata.name.as_deref().unwrap_or_default();
        let node = self.hierarchy.insert_cohort(name);
        let old = self
            .hierarchy
            .parent(node)
            .map(|p| self.hierarchy[p].name.clone());
        self.hierarchy.set_parent(node, &cohort.spec.parent_name);
        self.hierarchy[node].weight = fair_weight(cohort.spec.fair_sharing.as_ref());
        let quotas = quotas(&cohort.spec.resource_groups, &mut self.hierarchy.frs);
        self.hierarchy.set_quotas(node, &quotas);
        if let Some(old) = old.filter(|old| **old != *cohort.spec.parent_name) {
            self.update_cohort_tree_resources_if_no_cycle(&old);
        }
        self.hierarchy.update_cohort_tree_resources(node)?;
        Ok(())
    }

    /// Deletes the object of a Cohort.
    pub(crate) fn delete_cohort(&mut self, name: &str) {
        let Some(node) = self.hierarchy.cohort(name) else {
            return;
        };
        let parent = self
            .hierarchy
            .parent(node)
            .map(|p| self.hierarchy[p].name.clone());
        if let Some(remains) = self.hierarchy.remove_cohort(node) {
            // Without a parent it is in no cycle.
            let _ = self.hierarchy.update_cohort_tree_resources(remains);
        }
        if let Some(parent) = parent {
            self.update_cohort_tree_resources_if_no_cycle(&parent);
        }
    }

    /// Adds or updates a ResourceFlavor; returns the ClusterQueues that became active.
    pub fn upsert_flavor(
        &mut self,
        flavor: Arc<ResourceFlavor>,
        config: &EngineConfig,
    ) -> QueueNames {
        let name = flavor.metadata.name.as_deref().unwrap_or_default();
        if config.gates.topology_aware_scheduling {
            self.tas.upsert_flavor(&flavor);
        }
        self.flavors.insert(name.into(), flavor);
        self.update_cluster_queues(config)
    }

    /// Deletes a ResourceFlavor; returns the ClusterQueues that became active.
    pub(crate) fn delete_flavor(&mut self, name: &str, config: &EngineConfig) -> QueueNames {
        self.flavors.remove(name);
        self.tas.delete_flavor(name);
        self.update_cluster_queues(config)
    }

    /// Adds or updates a Topology; returns the ClusterQueues that became active.
    pub fn upsert_topology(&mut self, topology: &Topology, config: &EngineConfig) -> QueueNames {
        self.tas.upsert_topology(topology);
        self.update_cluster_queues(config)
    }

    /// Deletes a Topology; returns the ClusterQueues that became active.
    pub(crate) fn delete_topology(&mut self, name: &str, config: &EngineConfig) -> QueueNames {
        self.tas.delete_topology(name);
        self.update_cluster_queues(config)
    }

    /// Adds or updates an AdmissionCheck; returns the ClusterQueues that became active.
    pub fn upsert_check(&mut self, check: &AdmissionCheck, config: &EngineConfig) -> QueueNames {
        let name = check.metadata.name.clone().unwrap_or_default();
        self.checks
            .insert(name, AdmissionCheckInfo::from_api(check));
        self.update_cluster_queues(config)
    }

    /// Deletes an AdmissionCheck; returns the ClusterQueues that became active.
    pub(crate) fn delete_check(&mut self, name: &str, config: &EngineConfig) -> QueueNames {
        self.checks.remove(name);
        self.update_cluster_queues(config)
    }
}
