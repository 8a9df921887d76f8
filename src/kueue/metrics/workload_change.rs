//! [`WorkloadChange`]: a change of a Workload as metrics observe it, and durations in its life.

use jiff::Timestamp;

use super::labels::{CustomValues, Labels};
use super::metric_sources::MetricSources;
use super::registry::ReplicaRole;
use super::series::{ByQueue, Counters, Histograms};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::predicates;

/// A change of a Workload to observe.
pub(super) struct WorkloadChange<'a> {
    pub(super) old: &'a Workload,
    pub(super) new: &'a Workload,
    pub(super) now: Timestamp,
    pub(super) role: ReplicaRole,
    pub(super) sources: &'a MetricSources,
}

impl WorkloadChange<'_> {
    /// Whether a condition became true.
    pub(super) fn became_true(&self, type_: &str) -> bool {
        let holds = |wl: &Workload| wl.condition(type_).is_some_and(|c| c.status == "True");
        holds(self.new) && !holds(self.old)
    }

    /// The ClusterQueue of the current or previous admission.
    pub(super) fn cluster_queue(&self) -> String {
        let admission = self.new.status.admission.as_ref();
        let admission = admission.or(self.old.status.admission.as_ref());
        admission
            .map(|a| a.cluster_queue.clone())
            .unwrap_or_default()
    }

    pub(super) fn priority_class(&self) -> (&'static str, String) {
        let class = self.new.spec.priority_class_ref.as_ref();
        (
            "priority_class",
            class.map(|c| c.name.clone()).unwrap_or_default(),
        )
    }

    pub(super) fn of_cluster_queue(&self, more: &[(&'static str, String)]) -> Labels {
        let queue = self.cluster_queue();
        let custom = self.sources.cluster_queue_labels(&queue);
        let mut labels = vec![("cluster_queue", queue)];
        labels.extend_from_slice(more);
        labels.extend([self.priority_class(), self.role.label()]);
        Labels::from(labels).with(custom)
    }

    pub(super) fn of_local_queue(&self, more: &[(&'static str, String)]) -> Labels {
        let (namespace, name) = (predicates::namespace(self.new), &self.new.spec.queue_name);
        let mut labels = vec![("name", name.clone()), ("namespace", namespace.to_owned())];
        labels.extend_from_slice(more);
        labels.extend([self.priority_class(), self.role.label()]);
        Labels::from(labels).with(self.sources.local_queue_labels(namespace, name))
    }

    pub(super) fn count(&self, pair: &ByQueue<Counters>, more: &[(&'static str, String)]) {
        pair.cluster_queue.series(self.of_cluster_queue(more)).inc();
        if self.exposes_local_queue() {
            pair.local_queue.series(self.of_local_queue(more)).inc();
        }
    }

    pub(super) fn observe(&self, pair: &ByQueue<Histograms>, value: f64) {
        let series = pair.cluster_queue.series(self.of_cluster_queue(&[]));
        series.observe(value);
        if self.exposes_local_queue() {
            let series = pair.local_queue.series(self.of_local_queue(&[]));
            series.observe(value);
        }
    }

    /// Counts an admission; the series of the LocalQueue has the labels of the Workload as well.
    pub(super) fn count_with_workload_labels(&self, pair: &ByQueue<Counters>) {
        pair.cluster_queue.series(self.of_cluster_queue(&[])).inc();
        if self.exposes_local_queue() {
            let labels = self.of_local_queue(&[]).with(self.workload_labels());
            pair.local_queue.series(labels).inc();
        }
    }

    /// Observes an admission; the series of the LocalQueue has the labels of the Workload as well.
    pub(super) fn observe_with_workload_labels(&self, pair: &ByQueue<Histograms>, value: f64) {
        let series = pair.cluster_queue.series(self.of_cluster_queue(&[]));
        series.observe(value);
        if self.exposes_local_queue() {
            let labels = self.of_local_queue(&[]).with(self.workload_labels());
            pair.local_queue.series(labels).observe(value);
        }
    }

    pub(super) fn workload_labels(&self) -> CustomValues {
        self.sources.workload_labels(self.new)
    }

    pub(super) fn exposes_local_queue(&self) -> bool {
        self.sources.exposes_local_queue_of(self.new)
    }
}

/// The last transition time of a condition.
pub(super) fn since(wl: &Workload, type_: &str) -> Option<Timestamp> {
    wl.condition(type_).map(|c| c.last_transition_time.0)
}

/// The last transition time of a condition that is True.
pub(super) fn true_since(wl: &Workload, type_: &str) -> Option<Timestamp> {
    let condition = wl.condition(type_).filter(|c| c.status == "True")?;
    Some(condition.last_transition_time.0)
}

/// The total time a finished Workload was admitted.
pub(super) fn execution_time(wl: &Workload) -> Option<f64> {
    let admitted = true_since(wl, c::ADMITTED)?;
    let finished = true_since(wl, c::FINISHED)?;
    let before = wl.status.accumulated_past_execution_time_seconds;
    Some(f64::from(before.unwrap_or_default()) + seconds(admitted, finished))
}

/// Seconds between two timestamps; None if they are reversed by clock skew.
pub(super) fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

/// The time for which a Workload has been queued.
pub(super) fn queued_wait_time(wl: &Workload, now: Timestamp) -> f64 {
    let created = wl.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let queued = since(wl, c::REQUEUED).or(created).unwrap_or(now);
    seconds(queued, now)
}
