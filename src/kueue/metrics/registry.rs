//! The registry of all metrics and its text exposition.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::metric_sources::MetricSources;
use super::{job_metrics, multi_kueue_metrics, scheduler_metrics, state_gauges, workload_metrics};
use kueue_lab_api::config::Feature;
use kueue_lab_controller::{ControllerContext, MetricEvent};
use kueue_lab_controller_runtime::Change;

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
        let role = match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Standalone => "standalone",
        };
        ("replica_role", role.to_owned())
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
    pub(super) jobs: job_metrics::JobMetrics,
    pub(super) multi_kueue: multi_kueue_metrics::MultiKueueMetrics,
}

/// Buckets of 1 s, 2.5 s and its doubles: `COUNT` in all.
pub(super) fn exponential_histogram<const COUNT: u16>() -> Histogram {
    use prometheus_client::metrics::histogram::exponential_buckets;
    let doubles = exponential_buckets(2.5, 2.0, COUNT.saturating_sub(1));
    Histogram::new(std::iter::once(1.0).chain(doubles))
}

/// The default buckets of Prometheus client libraries.
pub(super) fn default_histogram() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ])
}

impl Inner {
    /// Observes an event of the controllers.
    pub(super) fn observe_event(
        &self,
        event: &MetricEvent<'_>,
        now: Timestamp,
        sources: &MetricSources,
    ) {
        let role = self.role;
        match event {
            MetricEvent::AdmissionAttempt(attempt) => {
                self.scheduler.observe_attempt(attempt, role, sources);
            }
            MetricEvent::Preempted {
                preempting_cluster_queue,
                reason,
            } => {
                let queue = preempting_cluster_queue;
                self.workloads
                    .observe_preemption(queue, reason, role, sources);
            }
            MetricEvent::WorkloadSliceReplaced { cluster_queue } => {
                self.workloads
                    .observe_replaced_slice(cluster_queue, role, sources);
            }
            MetricEvent::WorkloadCreated {
                job_kind,
                job,
                workload,
            } => {
                self.jobs
                    .observe_workload_creation(job_kind, job, workload, role, sources);
            }
            MetricEvent::SchedulingGateRemoved {
                gate,
                workload,
                is_group,
            } => {
                let labels = (role, sources);
                self.jobs
                    .observe_gate_removal(gate, workload, *is_group, now, labels);
            }
            MetricEvent::MultiKueueWorkloadDispatched {
                cluster_queue,
                cluster,
            } => self
                .multi_kueue
                .observe_dispatch(cluster_queue, cluster, role),
            MetricEvent::MultiKueueWorkloadAdmitted {
                cluster_queue,
                cluster,
            } => self
                .multi_kueue
                .observe_admission(cluster_queue, cluster, role),
        }
    }
}

impl Metrics {
    /// Empty metrics. With leader election only the leader counts.
    pub fn new(role: ReplicaRole) -> Self {
        let mut registry = Registry::default();
        let of_kueue = registry.sub_registry_with_prefix("kueue");
        let workloads = workload_metrics::WorkloadMetrics::register(of_kueue);
        let gauges = state_gauges::StateGauges::register(of_kueue);
        let scheduler = scheduler_metrics::SchedulerMetrics::register(of_kueue);
        let jobs = job_metrics::JobMetrics::register(of_kueue);
        let multi_kueue = multi_kueue_metrics::MultiKueueMetrics::register(&mut registry);
        Self {
            inner: Arc::new(Inner {
                registry: Mutex::new(registry),
                role,
                workloads,
                gauges,
                scheduler,
                jobs,
                multi_kueue,
            }),
        }
    }

    /// Adds the observers of a controller.
    pub fn observe_controller(&self, shared: &ControllerContext) {
        let sources = MetricSources::new(shared);
        let clock = shared.ctx.clock.clone();
        let (inner, of, context) = (self.inner.clone(), sources.clone(), shared.clone());
        shared.informers.workloads.add_event_handler(move |change| {
            let cohorts = |queue: &str| {
                // Cohorts in a cycle have no series.
                let ancestors = context.engine().cache().workload_ancestors(queue);
                ancestors.unwrap_or_default()
            };
            inner
                .workloads
                .observe_change(change, clock.now(), inner.role, &of, cohorts);
        });
        let (inner, of, clock) = (
            self.inner.clone(),
            sources.clone(),
            shared.ctx.clock.clone(),
        );
        let creation_latency = shared
            .settings
            .enabled(Feature::MetricForWorkloadCreationLatency);
        shared.on_metric_event(move |event| {
            if creation_latency || !matches!(event, MetricEvent::WorkloadCreated { .. }) {
                inner.observe_event(event, clock.now(), &of);
            }
        });
        self.clear_on_deletion(shared, sources);
    }

    /// Deletes the series of deleted objects.
    fn clear_on_deletion(&self, shared: &ControllerContext, sources: MetricSources) {
        let informers = &shared.informers;
        let inner = self.inner.clone();
        informers.cluster_queues.add_event_handler(move |change| {
            if let Change::Deleted(queue) = change {
                let name = queue.name_any();
                inner.scheduler.clear_cluster_queue(&name);
                inner.workloads.clear_cluster_queue(&name);
                inner.jobs.clear_cluster_queue(&name);
            }
        });
        let inner = self.inner.clone();
        informers.local_queues.add_event_handler(move |change| {
            let deleted = matches!(change, Change::Deleted(_));
            let queue = change.object();
            if deleted || !sources.exposes_local_queue(queue) {
                let namespace = queue.metadata.namespace.as_deref().unwrap_or_default();
                inner
                    .workloads
                    .clear_local_queue(namespace, &queue.name_any());
            }
        });
        let inner = self.inner.clone();
        informers.cohorts.add_event_handler(move |change| {
            if let Change::Deleted(cohort) = change {
                inner.workloads.clear_cohort(&cohort.name_any());
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
        kueue_lab_http::prometheus_text_format::to_text(&registry)
    }
}
