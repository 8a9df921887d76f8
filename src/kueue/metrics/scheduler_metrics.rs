//! Metrics of scheduling cycles.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::Labels;
use super::metric_sources::MetricSources;
use super::registry::{ReplicaRole, default_histogram};
use super::series::{Counters, Histograms, Series};
use kueue_lab_controller::AdmissionAttempt;
use kueue_lab_engine::cycle::RecomputationResult;

/// Metrics of scheduling cycles.
pub(super) struct SchedulerMetrics {
    attempts: Counters,
    durations: Histograms,
    skips: Series<Gauge>,
    recomputations: Counters,
}

impl SchedulerMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            attempts: Series::register(
                registry,
                "admission_attempts",
                "Admission attempts, by result: success or inadmissible",
                Counter::default,
            ),
            durations: Series::register(
                registry,
                "admission_attempt_duration_seconds",
                "Duration of admission attempts, by result",
                default_histogram,
            ),
            skips: Series::register(
                registry,
                "admission_cycle_preemption_skips",
                "Workloads with preemption targets that were skipped because targets overlapped in the cycle, by ClusterQueue; of the last cycle with any",
                Gauge::default,
            ),
            recomputations: Series::register(
                registry,
                "preemption_target_recomputations",
                "Recomputations of preemption targets that overlapped with those of another workload in the cycle, by ClusterQueue and result: new_targets, deferred_fit or skipped",
                Counter::default,
            ),
        }
    }

    /// Observes an admission attempt.
    pub(super) fn observe_attempt(
        &self,
        attempt: &AdmissionAttempt<'_>,
        role: ReplicaRole,
        sources: &MetricSources,
    ) {
        let result = match attempt.admitted {
            true => "success",
            false => "inadmissible",
        };
        let labels = vec![("result", result.to_owned()), role.label()];
        self.attempts.series(labels.clone()).inc();
        let duration = attempt.duration.as_secs_f64();
        self.durations.series(labels).observe(duration);
        let of_queue = |queue: &str, result: Option<RecomputationResult>| {
            let mut labels = vec![("cluster_queue", queue.to_owned())];
            labels.extend(result.map(|result| ("result", result.as_str().to_owned())));
            labels.push(role.label());
            Labels::from(labels).with(sources.cluster_queue_labels(queue))
        };
        for (queue, count) in &attempt.counts.skipped_preemptions {
            // As upstream: a cycle without skips does not reset the gauge.
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.skips.series(of_queue(queue, None)).set(count);
        }
        for (queue, results) in &attempt.counts.recomputations {
            for (result, count) in results {
                let labels = of_queue(queue, Some(*result));
                self.recomputations.series(labels).inc_by(*count);
            }
        }
    }

    /// Deletes the series of a deleted ClusterQueue.
    pub(super) fn clear_cluster_queue(&self, queue: &str) {
        let of_queue = [("cluster_queue", queue)];
        self.skips.delete(&of_queue);
        self.recomputations.delete(&of_queue);
    }
}
