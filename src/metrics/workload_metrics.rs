//! Metrics of Workload changes.

use jiff::Timestamp;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use super::registry::{Counters, Histograms, Labels, ReplicaRole, exponential_histogram};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::Change;

/// A metric of ClusterQueues and its counterpart of LocalQueues.
struct ByQueue<T> {
    cluster_queue: T,
    local_queue: T,
}

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
}

impl<T: Metric + Clone> ByQueue<T> {
    /// Registers both with `name`, that of LocalQueues with upstream's prefix.
    fn register(self, registry: &mut Registry, name: &str, what: &str) -> Self {
        let (by_cluster_queue, by_local_queue) =
            (self.cluster_queue.clone(), self.local_queue.clone());
        registry.register(name, format!("{what}, by ClusterQueue"), by_cluster_queue);
        let local = format!("local_queue_{name}");
        registry.register(local, format!("{what}, by LocalQueue"), by_local_queue);
        self
    }
}

fn counters(registry: &mut Registry, name: &str, what: &str) -> ByQueue<Counters> {
    let pair = ByQueue {
        cluster_queue: Counters::default(),
        local_queue: Counters::default(),
    };
    pair.register(registry, name, what)
}

/// The constructor of a histogram.
type Make = fn() -> Histogram;

fn histograms(registry: &mut Registry, name: &str, what: &str) -> ByQueue<Histograms> {
    let make = Histograms::new_with_constructor;
    let (of_cluster_queue, of_local_queue): (Make, Make) = match name {
        "execution_time_seconds" => (exponential_histogram::<16>, exponential_histogram::<16>),
        "quota_reserved_wait_time_seconds" | "admission_wait_time_seconds" => {
            (exponential_histogram::<16>, exponential_histogram::<14>)
        }
        _ => (exponential_histogram::<14>, exponential_histogram::<14>),
    };
    let pair = ByQueue {
        cluster_queue: make(of_cluster_queue),
        local_queue: make(of_local_queue),
    };
    pair.register(registry, name, what)
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
        let ready_until_evicted = Histograms::new_with_constructor(exponential_histogram::<14>);
        registry.register(
            "pods_ready_to_evicted_time_seconds",
            "From ready pods to an eviction, by ClusterQueue, reason and underlying cause",
            ready_until_evicted.clone(),
        );
        let evicted = counters(registry, "evicted_workloads", "Evictions");
        let evicted_once = Counters::default();
        registry.register(
            "evicted_workloads_once",
            "Workloads evicted, once per reason and cause",
            evicted_once.clone(),
        );
        let preempted = Counters::default();
        registry.register(
            "preempted_workloads",
            "Workloads preempted, by the ClusterQueue of the preemptor",
            preempted.clone(),
        );
        let eviction_latency = Histograms::new_with_constructor(exponential_histogram::<14>);
        registry.register(
            "workload_eviction_latency_seconds",
            "From an eviction to the release of the quota",
            eviction_latency.clone(),
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
        }
    }

    /// Observes a change of a Workload.
    pub(super) fn observe_change(
        &self,
        change: &Change<Workload>,
        now: Timestamp,
        role: ReplicaRole,
        by_local_queue: bool,
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
            by_local_queue,
        };
        if event.became_true(c::QUOTA_RESERVED) {
            event.count(&self.reserved, &[]);
            event.observe(&self.reserved_wait, queued_wait_time(new, now));
        }
        if event.became_true(c::ADMITTED) {
            event.count(&self.admitted, &[]);
            event.observe(&self.admitted_wait, queued_wait_time(new, now));
            let reserved = since(new, c::QUOTA_RESERVED).unwrap_or(now);
            let checks = match new.status.admission_checks.is_empty() {
                true => 0.0,
                false => seconds(reserved, now),
            };
            event.observe(&self.admission_checks_wait, checks);
        }
        if event.became_true(c::PODS_READY) && predicates::is_admitted(new) {
            event.observe(&self.ready_wait, queued_wait_time(new, now));
            let admitted = since(new, c::ADMITTED).unwrap_or(now);
            event.observe(&self.admitted_until_ready, seconds(admitted, now));
        }
        if event.became_true(c::FINISHED) {
            event.count(&self.finished, &[]);
            if let Some(took) = execution_time(new) {
                event.observe(&self.execution, took);
            }
        }
        self.evictions(&event);
    }

    fn evictions(&self, event: &WorkloadChange<'_>) {
        let WorkloadChange { old, new, now, .. } = *event;
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
            let why = [
                ("reason", after.reason),
                ("underlying_cause", after.underlying_cause),
            ];
            event.count(&self.evicted, &why);
            if let (Some(ready), Some(evicted)) =
                (true_since(old, c::PODS_READY), true_since(new, c::EVICTED))
            {
                let mut labels = vec![("cluster_queue", event.cluster_queue())];
                labels.extend_from_slice(&why);
                labels.push(event.role.label());
                let took = seconds(ready, evicted);
                self.ready_until_evicted
                    .get_or_create(&labels)
                    .observe(took);
            }
            if count == 0 {
                let labels = event.of_cluster_queue(&why);
                self.evicted_once.get_or_create(&labels).inc();
            }
        }
        if event.became_true(c::PREEMPTED)
            && let Some(condition) = new.condition(c::PREEMPTED)
        {
            let labels = vec![
                (
                    "preempting_cluster_queue",
                    preempting_cluster_queue(&condition.message),
                ),
                ("reason", condition.reason.clone()),
                event.role.label(),
            ];
            self.preempted.get_or_create(&labels).inc();
        }
        let released = predicates::has_quota_reservation(old)
            && !predicates::has_quota_reservation(new)
            && predicates::is_evicted(new);
        if released && let Some(condition) = new.condition(c::EVICTED) {
            let labels = vec![
                ("cluster_queue", event.cluster_queue()),
                ("reason", condition.reason.clone()),
                event.role.label(),
            ];
            let took = seconds(condition.last_transition_time.0, now);
            self.eviction_latency.get_or_create(&labels).observe(took);
        }
    }
}

/// A change of a Workload to observe.
struct WorkloadChange<'a> {
    old: &'a Workload,
    new: &'a Workload,
    now: Timestamp,
    role: ReplicaRole,
    by_local_queue: bool,
}

impl WorkloadChange<'_> {
    /// Whether a condition became true.
    fn became_true(&self, type_: &str) -> bool {
        let holds = |wl: &Workload| wl.condition(type_).is_some_and(|c| c.status == "True");
        holds(self.new) && !holds(self.old)
    }

    /// The ClusterQueue of the current or previous admission.
    fn cluster_queue(&self) -> String {
        let admission = self.new.status.admission.as_ref();
        let admission = admission.or(self.old.status.admission.as_ref());
        admission
            .map(|a| a.cluster_queue.clone())
            .unwrap_or_default()
    }

    fn priority_class(&self) -> (&'static str, String) {
        let class = self.new.spec.priority_class_ref.as_ref();
        (
            "priority_class",
            class.map(|c| c.name.clone()).unwrap_or_default(),
        )
    }

    fn of_cluster_queue(&self, more: &[(&'static str, String)]) -> Labels {
        let mut labels = vec![("cluster_queue", self.cluster_queue())];
        labels.extend_from_slice(more);
        labels.extend([self.priority_class(), self.role.label()]);
        labels
    }

    fn of_local_queue(&self, more: &[(&'static str, String)]) -> Labels {
        let mut labels = vec![
            ("name", self.new.spec.queue_name.clone()),
            ("namespace", predicates::namespace(self.new).to_owned()),
        ];
        labels.extend_from_slice(more);
        labels.extend([self.priority_class(), self.role.label()]);
        labels
    }

    fn count(&self, pair: &ByQueue<Counters>, more: &[(&'static str, String)]) {
        let labels = self.of_cluster_queue(more);
        pair.cluster_queue.get_or_create(&labels).inc();
        if self.by_local_queue {
            let labels = self.of_local_queue(more);
            pair.local_queue.get_or_create(&labels).inc();
        }
    }

    fn observe(&self, pair: &ByQueue<Histograms>, value: f64) {
        let labels = self.of_cluster_queue(&[]);
        pair.cluster_queue.get_or_create(&labels).observe(value);
        if self.by_local_queue {
            let labels = self.of_local_queue(&[]);
            pair.local_queue.get_or_create(&labels).observe(value);
        }
    }
}

/// The last transition time of a condition.
fn since(wl: &Workload, type_: &str) -> Option<Timestamp> {
    wl.condition(type_).map(|c| c.last_transition_time.0)
}

/// The last transition time of a condition that is True.
fn true_since(wl: &Workload, type_: &str) -> Option<Timestamp> {
    let condition = wl.condition(type_).filter(|c| c.status == "True")?;
    Some(condition.last_transition_time.0)
}

/// The total time a finished Workload was admitted.
fn execution_time(wl: &Workload) -> Option<f64> {
    let admitted = true_since(wl, c::ADMITTED)?;
    let finished = true_since(wl, c::FINISHED)?;
    let before = wl.status.accumulated_past_execution_time_seconds;
    Some(f64::from(before.unwrap_or_default()) + seconds(admitted, finished))
}

/// Seconds between two timestamps; None if they are reversed by clock skew.
fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

/// How long a Workload has been queued.
fn queued_wait_time(wl: &Workload, now: Timestamp) -> f64 {
    let created = wl.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let queued = since(wl, c::REQUEUED).or(created).unwrap_or(now);
    seconds(queued, now)
}

/// The ClusterQueue of the preemptor: the last element of the path in the message.
fn preempting_cluster_queue(message: &str) -> String {
    let path = message
        .split_once("preemptor path: ")
        .map_or("", |(_, rest)| rest);
    let path = path.split(';').next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
