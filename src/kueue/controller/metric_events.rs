//! [`MetricEvent`]: an event of the controllers that metrics count and that is not a change of a
//! Workload.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::RwLock;

use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::cycle::CycleCounts;

/// An admission attempt: one scheduling cycle.
pub struct AdmissionAttempt<'a> {
    /// Whether a Workload was admitted.
    pub admitted: bool,
    /// Duration in lab time.
    pub duration: Duration,
    /// Preemption skips and recomputations by ClusterQueue.
    pub counts: &'a CycleCounts,
}

/// An event of the controllers that the metrics count.
pub enum MetricEvent<'a> {
    /// A scheduling cycle ended.
    AdmissionAttempt(AdmissionAttempt<'a>),
    /// A Workload was preempted.
    Preempted {
        /// The ClusterQueue of the preemptor.
        preempting_cluster_queue: &'a str,
        /// The reason of the condition Preempted.
        reason: &'a str,
    },
    /// A Workload slice was replaced by a newer one.
    WorkloadSliceReplaced {
        /// The ClusterQueue of the replaced slice.
        cluster_queue: &'a str,
    },
    /// A Workload was created for a job.
    WorkloadCreated {
        /// The kind of the job.
        job_kind: &'a str,
        /// The metadata of the job.
        job: &'a ObjectMeta,
        /// The created Workload.
        workload: &'a Workload,
    },
    /// A scheduling gate of a pod was removed.
    SchedulingGateRemoved {
        /// The name of the gate.
        gate: &'a str,
        /// The Workload of the pod.
        workload: &'a Workload,
        /// Whether the pod is a member of a pod group.
        is_group: bool,
    },
    /// MultiKueue created a Workload in a worker cluster.
    MultiKueueWorkloadDispatched {
        /// The ClusterQueue of the Workload; empty without quota reservation.
        cluster_queue: &'a str,
        /// The worker cluster.
        cluster: &'a str,
    },
    /// A Workload was admitted in a worker cluster.
    MultiKueueWorkloadAdmitted {
        /// The ClusterQueue of the Workload; empty without quota reservation.
        cluster_queue: &'a str,
        /// The worker cluster.
        cluster: &'a str,
    },
}

type MetricObserver = Arc<dyn Fn(&MetricEvent<'_>) + Send + Sync>;

/// The observers of metric events.
#[derive(Default)]
pub(crate) struct MetricObservers(RwLock<Vec<MetricObserver>>);

impl MetricObservers {
    /// Adds an observer.
    pub(crate) fn add(&self, observer: impl Fn(&MetricEvent<'_>) + Send + Sync + 'static) {
        self.0.write().push(Arc::new(observer));
    }

    /// Calls all observers.
    pub(crate) fn notify(&self, event: &MetricEvent<'_>) {
        let observers = self.0.read().clone();
        observers.iter().for_each(|observer| observer(event));
    }
}
