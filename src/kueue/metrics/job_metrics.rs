//! Metrics of jobs: the creation of Workloads, and the scheduling gates of pods.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::labels::Labels;
use super::metric_sources::MetricSources;
use super::registry::{ReplicaRole, default_histogram};
use super::series::{Histograms, Series};
use jiff::Timestamp;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::predicates;

/// Metrics of jobs.
pub(super) struct JobMetrics {
    creation_latency: Histograms,
    gate_removal: Histograms,
}

/// 10 ms and its doubles up to 10.24 s.
fn creation_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 2.0, 11))
}

impl JobMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            creation_latency: Series::register(
                registry,
                "workload_creation_latency_seconds",
                "The time between a job was created until its workload was created, per 'job_kind'. Entries are only recorded for objects with generation 1.",
                creation_histogram,
            ),
            gate_removal: Series::register(
                registry,
                "pod_scheduling_gate_removal_seconds",
                "Duration from Workload admission to removal of a Pod scheduling gate.",
                default_histogram,
            ),
        }
    }

    /// Observes the creation of the Workload of a job. A job that was changed before is not
    /// counted.
    pub(super) fn observe_workload_creation(
        &self,
        job_kind: &str,
        job: &ObjectMeta,
        wl: &Workload,
        role: ReplicaRole,
        sources: &MetricSources,
    ) {
        if job.generation.is_some_and(|generation| generation > 1) {
            return;
        }
        let created = |meta: &ObjectMeta| meta.creation_timestamp.as_ref().map(|t| t.0);
        let (Some(from), Some(to)) = (created(job), created(&wl.metadata)) else {
            return;
        };
        let (namespace, name) = (predicates::namespace(wl), &wl.spec.queue_name);
        let labels = vec![("job_kind", job_kind.to_owned()), role.label()];
        let labels = Labels::from(labels).with(sources.local_queue_labels(namespace, name));
        let duration = to.duration_since(from).as_secs_f64();
        self.creation_latency.series(labels).observe(duration);
    }

    /// Observes the removal of a scheduling gate from a pod of an admitted Workload.
    pub(super) fn observe_gate_removal(
        &self,
        gate: &str,
        wl: &Workload,
        is_group: bool,
        now: Timestamp,
        (role, sources): (ReplicaRole, &MetricSources),
    ) {
        let admitted = wl.condition(c::ADMITTED).filter(|c| c.status == "True");
        let (Some(admitted), Some(admission)) = (admitted, &wl.status.admission) else {
            return;
        };
        let queue = &admission.cluster_queue;
        let labels = vec![
            ("name", gate.to_owned()),
            ("cluster_queue", queue.clone()),
            ("is_group", is_group.to_string()),
            role.label(),
        ];
        let labels = Labels::from(labels).with(sources.cluster_queue_labels(queue));
        let duration = now.duration_since(admitted.last_transition_time.0);
        let duration = duration.as_secs_f64().max(0.0);
        self.gate_removal.series(labels).observe(duration);
    }

    /// Deletes the series of a deleted ClusterQueue.
    pub(super) fn clear_cluster_queue(&self, queue: &str) {
        self.gate_removal.delete(&[("cluster_queue", queue)]);
    }
}
