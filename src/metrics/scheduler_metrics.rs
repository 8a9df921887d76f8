//! Metrics of scheduling cycles.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::registry::{Counters, Histograms, Labels, ReplicaRole};
use kueue_lab_admission::cycle::RecomputationResult;
use kueue_lab_controller::AdmissionAttempt;

/// Metrics of scheduling cycles.
pub(super) struct SchedulerMetrics {
    attempts: Counters,
    durations: Histograms,
    skips: Family<Labels, Gauge>,
    recomputations: Counters,
}

/// The default buckets of Prometheus client libraries.
fn durations() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ])
}

fn of_queue(name: &str, result: Option<RecomputationResult>, role: ReplicaRole) -> Labels {
    let mut labels = vec![("cluster_queue", name.to_owned())];
    labels.extend(result.map(|result| ("result", result.as_str().to_owned())));
    labels.push(role.label());
    labels
}

impl SchedulerMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let cycles = Self {
            attempts: Counters::default(),
            durations: Histograms::new_with_constructor(durations),
            skips: Family::default(),
            recomputations: Counters::default(),
        };
        registry.register(
            "admission_attempts",
            "Admission attempts, by result: success or inadmissible",
            cycles.attempts.clone(),
        );
        registry.register(
            "admission_attempt_duration_seconds",
            "Duration of admission attempts, by result",
            cycles.durations.clone(),
        );
        registry.register(
            "admission_cycle_preemption_skips",
            "Workloads with preemption targets that were skipped because targets overlapped in the cycle, by ClusterQueue; of the last cycle with any",
            cycles.skips.clone(),
        );
        registry.register(
            "preemption_target_recomputations",
            "Recomputations of preemption targets that overlapped with those of another workload in the cycle, by ClusterQueue and result: new_targets, deferred_fit or skipped",
            cycles.recomputations.clone(),
        );
        cycles
    }

    /// Observes an admission attempt.
    pub(super) fn observe_attempt(&self, attempt: &AdmissionAttempt<'_>, role: ReplicaRole) {
        let result = match attempt.admitted {
            true => "success",
            false => "inadmissible",
        };
        let labels = vec![("result", result.to_owned()), role.label()];
        self.attempts.get_or_create(&labels).inc();
        let took = attempt.duration.as_secs_f64();
        self.durations.get_or_create(&labels).observe(took);
        for (queue, count) in &attempt.counts.skipped_preemptions {
            // As upstream: a cycle without skips does not reset the gauge.
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            let labels = of_queue(queue, None, role);
            self.skips.get_or_create(&labels).set(count);
        }
        for (queue, results) in &attempt.counts.recomputations {
            for (result, count) in results {
                let labels = of_queue(queue, Some(*result), role);
                self.recomputations.get_or_create(&labels).inc_by(*count);
            }
        }
    }

    /// Deletes the series of a deleted ClusterQueue.
    pub(super) fn clear_cluster_queue(&self, queue: &str, role: ReplicaRole) {
        self.skips.remove(&of_queue(queue, None, role));
        for result in RecomputationResult::ALL {
            let labels = of_queue(queue, Some(result), role);
            self.recomputations.remove(&labels);
        }
    }
}
