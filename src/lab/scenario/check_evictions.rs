//! Checks which jobs were evicted, from the scheduling statistics of their Workloads.

use serde_json::Value;

use super::comparison::Comparison;
use super::glob::glob_matches;
use super::mismatch::Mismatch;
use super::observed_state::ObservedState;
use super::workload_history::ObservedWorkload;

impl ObservedState {
    /// Checks how often each job was evicted. With `any`, one job is enough.
    pub(super) fn check_evicted(
        &self,
        jobs: &[String],
        reason: Option<&str>,
        times: &Comparison,
        any: bool,
    ) -> Result<(), Mismatch> {
        let wrong = |w: &ObservedWorkload| !times.holds(number_of_evictions(w, reason));
        self.check_each(jobs, any, wrong, evictions_text)
    }
}

/// The evictions of a Workload as text.
pub(super) fn evictions_text(workload: &ObservedWorkload) -> String {
    match evictions(workload).as_slice() {
        [] => format!("was not evicted, it is {}", workload.state()),
        evictions => {
            let times = evictions.iter().map(|(reason, count)| match count {
                1 => format!("once ({reason})"),
                count => format!("{count} times ({reason})"),
            });
            format!("was evicted {}", times.collect::<Vec<_>>().join(", "))
        }
    }
}

/// How often a Workload was evicted for a reason.
pub(super) fn number_of_evictions(workload: &ObservedWorkload, reason: Option<&str>) -> usize {
    let evictions = evictions(workload).into_iter();
    let counted = evictions.filter(|(found, _)| {
        let parts = found.split_once('/').unwrap_or((found, found));
        reason.is_none_or(|pattern| {
            [found, parts.0, parts.1]
                .iter()
                .any(|text| glob_matches(pattern, text))
        })
    });
    counted.map(|(_, count)| count).sum()
}

/// The evictions of a Workload as `REASON` or `REASON/CAUSE`, with their numbers.
fn evictions(workload: &ObservedWorkload) -> Vec<(String, usize)> {
    let evictions = workload.object["status"]["schedulingStats"]["evictions"].as_array();
    let of_reason = |eviction: &Value| {
        let text = |field: &str| eviction[field].as_str().unwrap_or_default();
        let reason = match text("underlyingCause") {
            "" => text("reason").to_owned(),
            cause => format!("{}/{cause}", text("reason")),
        };
        let count = eviction["count"].as_u64().unwrap_or_default();
        (reason, usize::try_from(count).unwrap_or(usize::MAX))
    };
    evictions.into_iter().flatten().map(of_reason).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workload_history::WorkloadHistory;

    #[test]
    fn evictions_are_counted_by_reason_and_by_cause() {
        let evictions = json!([
            {"reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart", "count": 2},
            {"reason": "Preempted", "count": 1},
        ]);
        let workload = json!({
            "metadata": {"name": "w", "namespace": "default", "uid": "1"},
            "status": {"schedulingStats": {"evictions": evictions}},
        });
        let mut history = WorkloadHistory::default();
        history.record(&workload, "2026-01-01T00:00:00Z".parse().unwrap());
        let number = |reason| number_of_evictions(&history.all()[0], reason);
        assert_eq!(number(None), 3);
        assert_eq!(number(Some("PodsReadyTimeout")), 2);
        assert_eq!(number(Some("WaitForStart")), 2);
        assert_eq!(number(Some("*Timeout/Wait*")), 2);
        assert_eq!(number(Some("Preempted")), 1);
        assert_eq!(number(Some("Deactivated")), 0);
    }
}
