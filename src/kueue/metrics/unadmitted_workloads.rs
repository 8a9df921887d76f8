//! Gauges of unadmitted Workloads by reason.

use std::collections::BTreeMap;

use super::labels::Labels;
use super::state_gauges::{Collector, count};
use kueue_lab_api::constants::{self as c, admitted, quota_reserved};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::concurrent_admission::is_variant;
use kueue_lab_engine::workload::predicates;

/// The reason that a Workload is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnadmittedReason {
    /// The reason of the condition Admitted.
    reason: String,
    /// The reason of the condition QuotaReserved, unless it is True.
    underlying_cause: String,
}

/// The reason that a Workload is not admitted; none for one that is admitted, finished, deleted or
/// a variant.
fn unadmitted_reason(wl: &Workload) -> Option<UnadmittedReason> {
    let over = predicates::is_admitted(wl)
        || predicates::is_finished(wl)
        || wl.metadata.deletion_timestamp.is_some();
    if over || is_variant(wl) {
        return None;
    }
    let reason = wl.condition(c::ADMITTED).map(|c| c.reason.clone());
    let underlying_cause = match wl.condition(c::QUOTA_RESERVED) {
        None => quota_reserved::PENDING_EVALUATION.to_owned(),
        Some(reserved) if reserved.status == "True" => String::new(),
        Some(reserved) => reserved.reason.clone(),
    };
    Some(UnadmittedReason {
        reason: reason.unwrap_or_else(|| admitted::NO_RESERVATION.to_owned()),
        underlying_cause,
    })
}

/// Collects the gauges. A Workload without ClusterQueue is not counted.
pub(super) fn collect(collector: Collector<'_>) {
    let mut by_cluster_queue: BTreeMap<(String, UnadmittedReason), usize> = BTreeMap::new();
    let mut by_local_queue: BTreeMap<(String, String, String, UnadmittedReason), usize> =
        BTreeMap::new();
    for wl in collector.shared.informers.workloads.list() {
        let Some(reason) = unadmitted_reason(&wl) else {
            continue;
        };
        let engine = collector.shared.engine();
        let Some(queue) = engine
            .cluster_queue_of(&wl)
            .map(|(name, _)| name.to_string())
        else {
            continue;
        };
        drop(engine);
        let local = (
            predicates::namespace(&wl).to_owned(),
            wl.spec.queue_name.clone(),
            queue.clone(),
            reason.clone(),
        );
        *by_cluster_queue.entry((queue, reason)).or_default() += 1;
        if collector.sources.exposes_local_queues() {
            *by_local_queue.entry(local).or_default() += 1;
        }
    }
    let role = collector.role;
    for ((queue, reason), n) in by_cluster_queue {
        let custom = collector.sources.cluster_queue_labels(&queue);
        let labels = vec![
            ("cluster_queue", queue),
            ("reason", reason.reason),
            ("underlying_cause", reason.underlying_cause),
            role.label(),
        ];
        let labels = Labels::from(labels).with(custom);
        collector.set("unadmitted_workloads", labels, count(n));
    }
    for ((namespace, name, queue, reason), n) in by_local_queue {
        let custom = collector.sources.local_queue_labels(&namespace, &name);
        let labels = vec![
            ("name", name),
            ("namespace", namespace),
            ("cluster_queue", queue),
            ("reason", reason.reason),
            ("underlying_cause", reason.underlying_cause),
            role.label(),
        ];
        let labels = Labels::from(labels).with(custom);
        collector.set("local_queue_unadmitted_workloads", labels, count(n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn reason(conditions: Value) -> Option<(String, String)> {
        let wl = json!({
            "metadata": {"name": "w", "namespace": "n"},
            "spec": {"podSets": []},
            "status": {"conditions": conditions},
        });
        let wl: Workload = serde_json::from_value(wl).unwrap();
        unadmitted_reason(&wl).map(|unadmitted| (unadmitted.reason, unadmitted.underlying_cause))
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Value {
        json!({
            "type": type_, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-03-02T12:00:10Z",
        })
    }

    #[test]
    fn the_reason_comes_from_the_conditions() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(
            reason(json!([])),
            pair("NoReservation", "PendingEvaluation")
        );
        let waits = [
            condition("Admitted", "False", "NoReservation"),
            condition("QuotaReserved", "False", "InsufficientQuota"),
        ];
        assert_eq!(
            reason(json!(waits)),
            pair("NoReservation", "InsufficientQuota")
        );
        let checks = [
            condition("Admitted", "False", "UnsatisfiedChecks"),
            condition("QuotaReserved", "True", "QuotaReserved"),
        ];
        assert_eq!(reason(json!(checks)), pair("UnsatisfiedChecks", ""));
        assert_eq!(
            reason(json!([condition("Admitted", "True", "Admitted")])),
            None
        );
        assert_eq!(
            reason(json!([condition("Finished", "True", "Succeeded")])),
            None
        );
    }
}
