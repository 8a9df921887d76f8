//! Queries by flavor, topology, admission check, namespace and ancestors.

use std::sync::Arc;

use super::Cache;
use super::object_updates::QueueNames;
use kueue_lab_component_helpers::label_selector::Labels;
use kueue_lab_quota_tree::CohortHasCycle;

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

    /// The ClusterQueues with a flavor of a topology.
    pub fn cluster_queues_using_topology(&self, topology: &str) -> QueueNames {
        self.names(|q| q.tas_flavors.values().any(|t| t == topology))
    }

    /// The ClusterQueues with an admission check.
    pub fn cluster_queues_using_admission_check(&self, check: &str) -> QueueNames {
        self.names(|q| q.checks.contains_key(check))
    }

    /// The ClusterQueues whose namespace selector matches these labels.
    pub(crate) fn matching_cluster_queues(&self, labels: &Labels) -> QueueNames {
        self.names(|q| q.namespace_selector.matches(labels))
    }

    /// A cohort and its ancestors up to the root; none when the cohort does not exist.
    ///
    /// # Errors
    /// When the cohorts form a cycle.
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

    /// The ancestors of a ClusterQueue's cohort without the root.
    ///
    /// # Errors
    /// When the cohorts form a cycle.
    pub fn cluster_queue_ancestors(&self, cohort: &str) -> Result<Vec<Arc<str>>, CohortHasCycle> {
        let mut path = self.cohort_ancestors(cohort)?;
        path.pop();
        Ok(path)
    }

    /// The ancestors of the ClusterQueue that a workload is admitted to, up to the root.
    ///
    /// # Errors
    /// When the cohorts form a cycle.
    pub fn workload_ancestors(&self, queue: &str) -> Result<Vec<Arc<str>>, CohortHasCycle> {
        let parent = self.node_of(queue).and_then(|n| self.hierarchy.parent(n));
        parent.map_or(Ok(Vec::new()), |p| {
            self.cohort_ancestors(&self.hierarchy[p].name)
        })
    }

    /// The path of a ClusterQueue from the root cohort, as messages format it.
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
}
