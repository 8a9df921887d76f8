//! Prometheus metrics of the admission controller, with upstream's names and labels.
//!
//! What happens is counted by looking at how Workloads change and at what cycles tell; how things
//! stand is read from the informers and the engine when somebody asks. The controller knows nothing of it.
//!
//! Not there: labels from the metadata of objects (`metrics.customLabels`), and what belongs to
//! MultiKueue, workload slices and latencies of single writes.

mod scheduler_metrics;
mod state_gauges;
mod workload_metrics;

use std::sync::Arc;

use kube::ResourceExt;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use kueue_lab_controller::ControllerContext;
use kueue_lab_runtime::Change;

pub use kueue_lab_prometheus::CONTENT_TYPE;

/// Names and values of labels, always in the same order for one metric.
type Labels = Vec<(&'static str, String)>;
type Counters = Family<Labels, Counter>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// What an instance is in the election, as the label `replica_role` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaRole {
    /// It leads.
    Leader,
    /// Another one leads.
    Follower,
    /// There is no election.
    Standalone,
}

impl ReplicaRole {
    fn label(self) -> (&'static str, String) {
        let word = match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Standalone => "standalone",
        };
        ("replica_role", word.to_owned())
    }
}

/// The metrics of a process, over all its terms. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Mutex<Registry>,
    role: ReplicaRole,
    workloads: workload_metrics::WorkloadMetrics,
    gauges: state_gauges::StateGauges,
    scheduler: scheduler_metrics::SchedulerMetrics,
}

/// One second, then 2.5 s and its doubles: `count` buckets in all.
fn exponential_histogram<const COUNT: u16>() -> Histogram {
    use prometheus_client::metrics::histogram::exponential_buckets;
    let doubles = exponential_buckets(2.5, 2.0, COUNT.saturating_sub(1));
    Histogram::new(std::iter::once(1.0).chain(doubles))
}

impl Metrics {
    /// No metrics yet. Whoever takes part in an election counts only while it leads.
    pub fn new(role: ReplicaRole) -> Self {
        let mut registry = Registry::with_prefix("kueue");
        let counted = workload_metrics::WorkloadMetrics::register(&mut registry);
        let standing = state_gauges::StateGauges::register(&mut registry);
        let cycles = scheduler_metrics::SchedulerMetrics::register(&mut registry);
        Self {
            inner: Arc::new(Inner {
                registry: Mutex::new(registry),
                role,
                workloads: counted,
                gauges: standing,
                scheduler: cycles,
            }),
        }
    }

    /// Counts what a controller does from now on.
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

    /// All metrics in Prometheus' text format, as upstream gives them; how things stand as `controller` knows it.
    pub fn text(&self, controller: Option<&ControllerContext>) -> String {
        let inner = &self.inner;
        // Held, so that two who ask at once do not see half of what is read anew.
        let registry = inner.registry.lock();
        inner.gauges.clear();
        if let Some(shared) = controller {
            inner.gauges.collect(shared, inner.role);
        }
        kueue_lab_prometheus::to_text(&registry)
    }
}

#[cfg(test)]
mod tests;
