//! The registry of all metrics and its text exposition.

use std::sync::Arc;

use kube::ResourceExt;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{scheduler_metrics, state_gauges, workload_metrics};
use kueue_lab_controller::ControllerContext;
use kueue_lab_runtime::Change;

/// Label names and values; in the same order for all series of a metric.
pub(super) type Labels = Vec<(&'static str, String)>;

pub(super) type Counters = Family<Labels, Counter>;

pub(super) type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// The value of the label `replica_role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaRole {
    /// The leader.
    Leader,
    /// A follower.
    Follower,
    /// Without leader election.
    Standalone,
}

impl ReplicaRole {
    pub(super) fn label(self) -> (&'static str, String) {
        let word = match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Standalone => "standalone",
        };
        ("replica_role", word.to_owned())
    }
}

/// The metrics of a process, across terms of leadership. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) registry: Mutex<Registry>,
    pub(super) role: ReplicaRole,
    pub(super) workloads: workload_metrics::WorkloadMetrics,
    pub(super) gauges: state_gauges::StateGauges,
    pub(super) scheduler: scheduler_metrics::SchedulerMetrics,
}

/// Buckets of 1 s, 2.5 s and its doubles: `COUNT` in all.
pub(super) fn exponential_histogram<const COUNT: u16>() -> Histogram {
    use prometheus_client::metrics::histogram::exponential_buckets;
    let doubles = exponential_buckets(2.5, 2.0, COUNT.saturating_sub(1));
    Histogram::new(std::iter::once(1.0).chain(doubles))
}

impl Metrics {
    /// Empty metrics. With leader election only the leader counts.
    pub fn new(role: ReplicaRole) -> Self {
        let mut registry = Registry::with_prefix("kueue");
        let workloads = workload_metrics::WorkloadMetrics::register(&mut registry);
        let gauges = state_gauges::StateGauges::register(&mut registry);
        let scheduler = scheduler_metrics::SchedulerMetrics::register(&mut registry);
        Self {
            inner: Arc::new(Inner {
                registry: Mutex::new(registry),
                role,
                workloads,
                gauges,
                scheduler,
            }),
        }
    }

    /// Adds the observers of a controller.
    pub fn observe_controller(&self, shared: &ControllerContext) {
        let inner = self.inner.clone();
        let by_queue = shared.settings.local_queue_metrics();
        let clock = shared.ctx.clock.clone();
        shared.informers.workloads.add_event_handler(move |change| {
            inner
                .workloads
                .observe_change(change, clock.now(), inner.role, by_queue);
        });
        let inner = self.inner.clone();
        shared.on_admission_attempt(move |attempt| {
            inner.scheduler.observe_attempt(attempt, inner.role)
        });
        let inner = self.inner.clone();
        shared
            .informers
            .cluster_queues
            .add_event_handler(move |change| {
                if let Change::Deleted(queue) = change {
                    inner
                        .scheduler
                        .clear_cluster_queue(&queue.name_any(), inner.role);
                }
            });
    }

    /// The metrics in Prometheus' text format, as upstream serves them; gauges are collected from
    /// `controller`.
    pub fn text(&self, controller: Option<&ControllerContext>) -> String {
        let inner = &self.inner;
        // Held, so that concurrent scrapes do not see partially collected gauges.
        let registry = inner.registry.lock();
        inner.gauges.clear();
        if let Some(shared) = controller {
            inner.gauges.collect(shared, inner.role);
        }
        kueue_lab_prometheus::to_text(&registry)
    }
}
