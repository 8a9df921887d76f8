//! Metrics of MultiKueue: Workloads in worker clusters.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::registry::ReplicaRole;
use super::series::{Counters, Series};

/// Metrics of MultiKueue.
pub(super) struct MultiKueueMetrics {
    dispatched: Counters,
    admitted: Counters,
}

impl MultiKueueMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("multikueue");
        Self {
            dispatched: Series::register(
                registry,
                "workloads_dispatched",
                "Workloads created in worker clusters, by ClusterQueue and cluster",
                Counter::default,
            ),
            admitted: Series::register(
                registry,
                "workloads_admitted",
                "Workloads admitted in worker clusters, by ClusterQueue and cluster",
                Counter::default,
            ),
        }
    }

    /// Counts a Workload created in a worker cluster.
    pub(super) fn observe_dispatch(&self, cluster_queue: &str, cluster: &str, role: ReplicaRole) {
        self.dispatched
            .series(labels(cluster_queue, cluster, role))
            .inc();
    }

    /// Counts a Workload admitted in a worker cluster.
    pub(super) fn observe_admission(&self, cluster_queue: &str, cluster: &str, role: ReplicaRole) {
        self.admitted
            .series(labels(cluster_queue, cluster, role))
            .inc();
    }
}

fn labels(cluster_queue: &str, cluster: &str, role: ReplicaRole) -> Vec<(&'static str, String)> {
    vec![
        ("cluster_queue", cluster_queue.to_owned()),
        ("cluster", cluster.to_owned()),
        role.label(),
    ]
}
