//! Who uses what: the ClusterQueues of a flavor, topology, check or namespace, ancestors.

use std::sync::Arc;

use super::Cache;
use super::hierarchy::CohortHasCycle;
use super::object_updates::{CacheError, QueueNames};
use crate::kube::label_selector::Labels;
use crate::workload::WorkloadKey;

impl Cache {
    fn names(&self, keep: impl Fn(&super::ClusterQueue) -> bool) -> QueueNames {
        self.cluster_queues()
            .filter(|q| keep(q))
            .map(|q| q.name.clone())
            .collect()
    }

    /// The ClusterQueues that have a flavor.
    pub fn cluster_queues_using_flavor(&self, flavor: &str) -> QueueNames {
        self.names(|q| q.uses_flavor(flavor))
    }

    /// The ClusterQueues with a flavor on a topology.
    pub fn cluster_queues_using_topology(&self, topology: &str) -> QueueNames {
        self.names(|q| q.tas_flavors.values().any(|t| t == topology))
    }

    /// The ClusterQueues with an admission check.
    pub fn cluster_queues_using_admission_check(&self, check: &str) -> QueueNames {
        self.names(|q| q.checks.contains_key(check))
    }

    /// The ClusterQueues that take workloads from a namespace with these labels.
    pub fn matching_cluster_queues(&self, labels: &Labels) -> QueueNames {
        self.names(|q| q.namespace_selector.matches(labels))
    }

    /// A cohort and those above it, up to the root; none when the cohort is not there.
    ///
    /// # Errors
    /// When they form a cycle.
    pub fn cohort_ancestors(&self, cohort: &str) -> Result<Vec<Arc<str>>, CohortHasCycle> {
        let Some(node) = self.hierarchy.cohort(cohort) else {
            return Ok(Vec::new());
        };
        if self.hierarchy.has_cycle(node) {
            return Err(CohortHasCycle);
        }
        let path = std::iter::once(node).chain(self.hierarchy.ancestors(node));
        Ok(path.map(|n| self.hierarchy[n].name.clone()).collect())
    }

    /// The cohorts above a ClusterQueue but for the root.
    ///
    /// # Errors
    /// When they form a cycle.
    pub fn cluster_queue_ancestors(&self, cohort: &str) -> Result<Vec<Arc<str>>, CohortHasCycle> {
        let mut path = self.cohort_ancestors(cohort)?;
        path.pop();
        Ok(path)
    }

    /// The cohorts above the ClusterQueue a workload is admitted to, up to the root.
    ///
    /// # Errors
    /// When they form a cycle.
    pub fn workload_ancestors(&self, queue: &str) -> Result<Vec<Arc<str>>, CohortHasCycle> {
        let parent = self.node_of(queue).and_then(|n| self.hierarchy.parent(n));
        parent.map_or(Ok(Vec::new()), |p| {
            self.cohort_ancestors(&self.hierarchy[p].name)
        })
    }

    /// The path of a ClusterQueue from the root of its cohorts, as messages write it.
    pub fn cluster_queue_path(&self, node: super::HierarchyNodeId) -> String {
        let mut names: Vec<&str> = vec![&self.hierarchy[node].name];
        names.extend(
            self.hierarchy
                .ancestors(node)
                .map(|n| &*self.hierarchy[n].name),
        );
        names.reverse();
        format!("/{}", names.join("/"))
    }

    /// The keys of the workloads that hold quota of a ClusterQueue, sorted.
    pub fn reserving_workload_keys(&self, queue: &str) -> Result<Vec<WorkloadKey>, CacheError> {
        let queue = self
            .cluster_queue(queue)
            .ok_or(CacheError::ClusterQueueNotFound)?;
        let mut keys: Vec<WorkloadKey> = queue.by_key.keys().cloned().collect();
        keys.sort();
        Ok(keys)
    }
}
