//! Metrics of Workload changes.

use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::Labels;
use super::metric_sources::MetricSources;
use super::registry::{ReplicaRole, exponential_histogram};
use super::series::{ByQueue, Counters, Histograms, Series};
use super::workload_change::{
    WorkloadChange, execution_time, queued_wait_time, seconds, since, true_since,
};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::Change;
use kueue_lab_engine::workload::predicates;

/// Metrics of Workload changes.
pub(super) struct WorkloadMetrics {
    reserved: ByQueue<Counters>,
    reserved_wait: ByQueue<Histograms>,
    admitted: ByQueue<Counters>,
    admitted_wait: ByQueue<Histograms>,
    admission_checks_wait: ByQueue<Histograms>,
    ready_wait: ByQueue<Histograms>,
    admitted_until_ready: ByQueue<Histograms>,
    finished: ByQueue<Counters>,
    execution: ByQueue<Histograms>,
    ready_until_evicted: Histograms,
    evicted: ByQueue<Counters>,
    evicted_once: Counters,
    preempted: Counters,
    eviction_latency: Histograms,
    replaced_slices: Counters,
    cohort_admitted: Counters,
}

fn counters(registry: &mut Registry, name: &str, what: &str) -> ByQueue<Counters> {
    ByQueue {
        cluster_queue: Series::register(
            registry,
            name,
            format!("{what}, by ClusterQueue"),
            Counter::default,
        ),
        local_queue: Series::register(
            registry,
            format!("local_queue_{name}"),
            format!("{what}, by LocalQueue"),
            Counter::default,
        ),
    }
}

/// The constructor of a histogram.
type Make = fn() -> Histogram;

fn histograms(registry: &mut Registry, name: &str, what: &str) -> ByQueue<Histograms> {
    let (of_cluster_queue, of_local_queue): (Make, Make) = match name {
        "execution_time_seconds" => (exponential_histogram::<16>, exponential_histogram::<16>),
        "admission_wait_time_seconds" => (exponential_histogram::<16>, exponential_histogram::<14>),
        _ => (exponential_histogram::<14>, exponential_histogram::<14>),
    };
    ByQueue {
        cluster_queue: Series::register(
            registry,
            name,
            format!("{what}, by ClusterQueue"),
            of_cluster_queue,
        ),
        local_queue: Series::register(
            registry,
            format!("local_queue_{name}"),
            format!("{what}, by LocalQueue"),
            of_local_queue,
        ),
    }
}

impl WorkloadMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let reserved = counters(
            registry,
            "quota_reserved_workloads",
            "Workloads with a new quota reservation",
        );
        let reserved_wait = histograms(
            registry,
            "quota_reserved_wait_time_seconds",
            "From creation or requeueing to quota reservation",
        );
        let admitted = counters(registry, "admitted_workloads", "Admitted workloads");
        let admitted_wait = histograms(
            registry,
            "admission_wait_time_seconds",
            "From creation or requeueing to admission",
        );
        let admission_checks_wait = histograms(
            registry,
            "admission_checks_wait_time_seconds",
            "From quota reservation to admission",
        );
        let ready_wait = histograms(
            registry,
            "ready_wait_time_seconds",
            "From creation or requeueing to ready pods",
        );
        let admitted_until_ready = histograms(
            registry,
            "admitted_until_ready_wait_time_seconds",
            "From admission to ready pods",
        );
        let finished = counters(registry, "finished_workloads", "Finished workloads");
        let execution = histograms(
            registry,
            "execution_time_seconds",
            "Total time finished workloads were admitted, across evictions",
        );
        let ready_until_evicted = Series::register(
            registry,
            "pods_ready_to_evicted_time_seconds",
            "From ready pods to an eviction, by ClusterQueue, reason and underlying cause",
            exponential_histogram::<14>,
        );
        let evicted = counters(registry, "evicted_workloads", "Evictions");
        let evicted_once = Series::register(
            registry,
            "evicted_workloads_once",
            "Workloads evicted, once per reason and cause",
            Counter::default,
        );
        let preempted = Series::register(
            registry,
            "preempted_workloads",
            "Workloads preempted, by the ClusterQueue of the preemptor",
            Counter::default,
        );
        let eviction_latency = Series::register(
            registry,
            "workload_eviction_latency_seconds",
            "From an eviction to the release of the quota",
            exponential_histogram::<14>,
        );
        let replaced_slices = Series::register(
            registry,
            "replaced_workload_slices",
            "The number of replaced workload slices per 'cluster_queue'",
            Counter::default,
        );
        let cohort_admitted = Series::register(
            registry,
            "cohort_subtree_admitted_workloads",
            "The total number of admitted workloads per cohort's subtree",
            Counter::default,
        );
        Self {
            reserved,
            reserved_wait,
            admitted,
            admitted_wait,
            admission_checks_wait,
            ready_wait,
            admitted_until_ready,
            finished,
            execution,
            ready_until_evicted,
            evicted,
            evicted_once,
            preempted,
            eviction_latency,
            replaced_slices,
            cohort_admitted,
        }
    }

    /// Observes a change of a Workload. `cohorts` are the Cohorts of the ClusterQueue of its
    /// admission.
    pub(super) fn observe_change(
        &self,
        change: &Change<Workload>,
        now: Timestamp,
        role: ReplicaRole,
        sources: &MetricSources,
        cohorts: impl Fn(&str) -> Vec<Arc<str>>,
    ) {
        // An object of the first list did not change now.
        let Change::Updated { old, new } = change else {
            return;
        };
        let event = WorkloadChange {
            old,
            new,
            now,
            role,
            sources,
        };
        if event.became_true(c::QUOTA_RESERVED) {
            event.count(&self.reserved, &[]);
            event.observe(&self.reserved_wait, queued_wait_time(new, now));
        }
        if event.became_true(c::ADMITTED) {
            self.admission(&event, &cohorts(&event.cluster_queue()));
        }
        // A recovery is no start.
        if event.became_true(c::PODS_READY)
            && predicates::is_admitted(new)
            && let Some(ready) = new.condition(c::PODS_READY)
            && ready.reason == c::pods_ready::STARTED
        {
            event.observe(&self.ready_wait, queued_wait_time(new, now));
            let admitted = since(new, c::ADMITTED).unwrap_or(now);
            let duration = seconds(admitted, ready.last_transition_time.0);
            event.observe(&self.admitted_until_ready, duration);
        }
        if event.became_true(c::FINISHED) {
            event.count(&self.finished, &[]);
            if let Some(duration) = execution_time(new) {
                event.observe(&self.execution, duration);
            }
        }
        self.evictions(&event);
    }

    fn admission(&self, event: &WorkloadChange<'_>, cohorts: &[Arc<str>]) {
        let WorkloadChange { old, new, now, .. } = *event;
        for cohort in cohorts {
            let labels = vec![
                ("cohort", cohort.to_string()),
                event.priority_class(),
                event.role.label(),
            ];
            let labels = Labels::from(labels).with(event.sources.cohort_labels(cohort));
            self.cohort_admitted.series(labels).inc();
        }
        event.count_with_workload_labels(&self.admitted);
        event.observe_with_workload_labels(&self.admitted_wait, queued_wait_time(new, now));
        // The scheduler, which writes the admission, admits without a wait, and observes it only if
        // there are admission checks.
        let by_scheduler = old.status.admission != new.status.admission;
        let reserved = since(new, c::QUOTA_RESERVED).unwrap_or(now);
        let checks = match (by_scheduler, new.status.admission_checks.is_empty()) {
            (true, true) => return,
            (true, false) => 0.0,
            (false, _) => seconds(reserved, now),
        };
        event.observe(&self.admission_checks_wait, checks);
    }

    /// Counts a preemption.
    pub(super) fn observe_preemption(
        &self,
        queue: &str,
        reason: &str,
        role: ReplicaRole,
        sources: &MetricSources,
    ) {
        let labels = vec![
            ("preempting_cluster_queue", queue.to_owned()),
            ("reason", reason.to_owned()),
            role.label(),
        ];
        let labels = Labels::from(labels).with(sources.cluster_queue_labels(queue));
        self.preempted.series(labels).inc();
    }

    /// Counts a replaced Workload slice.
    pub(super) fn observe_replaced_slice(
        &self,
        queue: &str,
        role: ReplicaRole,
        sources: &MetricSources,
    ) {
        let labels = vec![("cluster_queue", queue.to_owned()), role.label()];
        let labels = Labels::from(labels).with(sources.cluster_queue_labels(queue));
        self.replaced_slices.series(labels).inc();
    }

    /// Deletes the series of a deleted ClusterQueue.
    pub(super) fn clear_cluster_queue(&self, queue: &str) {
        let of_queue = [("cluster_queue", queue)];
        for counters in [
            &self.reserved,
            &self.admitted,
            &self.finished,
            &self.evicted,
        ] {
            counters.cluster_queue.delete(&of_queue);
        }
        for histograms in self.histograms() {
            histograms.cluster_queue.delete(&of_queue);
        }
        self.ready_until_evicted.delete(&of_queue);
        self.evicted_once.delete(&of_queue);
        self.eviction_latency.delete(&of_queue);
        self.preempted
            .delete(&[("preempting_cluster_queue", queue)]);
    }

    /// Deletes the series of a LocalQueue that is deleted or has no series any more.
    pub(super) fn clear_local_queue(&self, namespace: &str, name: &str) {
        let of_queue = [("name", name), ("namespace", namespace)];
        for counters in [
            &self.reserved,
            &self.admitted,
            &self.finished,
            &self.evicted,
        ] {
            counters.local_queue.delete(&of_queue);
        }
        for histograms in self.histograms() {
            histograms.local_queue.delete(&of_queue);
        }
    }

    /// Deletes the series of a deleted Cohort.
    pub(super) fn clear_cohort(&self, cohort: &str) {
        self.cohort_admitted.delete(&[("cohort", cohort)]);
    }

    fn histograms(&self) -> [&ByQueue<Histograms>; 6] {
        [
            &self.reserved_wait,
            &self.admitted_wait,
            &self.admission_checks_wait,
            &self.ready_wait,
            &self.admitted_until_ready,
            &self.execution,
        ]
    }

    /// Evictions of Workloads with an admission; that of one without, by its deactivation, is not
    /// counted.
    fn evictions(&self, event: &WorkloadChange<'_>) {
        let WorkloadChange { old, new, now, .. } = *event;
        if new.status.admission.is_none() && old.status.admission.is_none() {
            return;
        }
        let evictions = |wl: &Workload| {
            let stats = wl.status.scheduling_stats.as_ref();
            stats.map(|s| s.evictions.clone()).unwrap_or_default()
        };
        let before = evictions(old);
        for after in evictions(new) {
            let same = before
                .iter()
                .find(|b| b.reason == after.reason && b.underlying_cause == after.underlying_cause);
            let count = same.map_or(0, |b| b.count);
            if after.count <= count {
                continue;
            }
            let reason_labels = [
                ("reason", after.reason),
                ("underlying_cause", after.underlying_cause),
            ];
            event.count(&self.evicted, &reason_labels);
            if let (Some(ready), Some(evicted)) =
                (true_since(old, c::PODS_READY), true_since(new, c::EVICTED))
            {
                let queue = event.cluster_queue();
                let custom = event.sources.cluster_queue_labels(&queue);
                let mut labels = vec![("cluster_queue", queue)];
                labels.extend_from_slice(&reason_labels);
                labels.push(event.role.label());
                let duration = seconds(ready, evicted);
                let labels = Labels::from(labels).with(custom);
                self.ready_until_evicted.series(labels).observe(duration);
            }
            if count == 0 {
                let labels = event.of_cluster_queue(&reason_labels);
                self.evicted_once.series(labels).inc();
            }
        }
        let released = predicates::has_quota_reservation(old)
            && !predicates::has_quota_reservation(new)
            && predicates::is_evicted(new);
        if released && let Some(condition) = new.condition(c::EVICTED) {
            let queue = event.cluster_queue();
            let custom = event.sources.cluster_queue_labels(&queue);
            let labels = vec![
                ("cluster_queue", queue),
                ("reason", condition.reason.clone()),
                event.role.label(),
            ];
            let duration = seconds(condition.last_transition_time.0, now);
            let labels = Labels::from(labels).with(custom);
            self.eviction_latency.series(labels).observe(duration);
        }
    }
}
