//! Values and labels of metrics.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use kueue_lab_admission::cycle::{CycleCounts, RecomputationResult};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller::AdmissionAttempt;
use kueue_lab_runtime::Change;

fn workload(status: Value) -> Arc<Workload> {
    let object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {
            "name": "w", "namespace": "team", "creationTimestamp": "2026-03-02T12:00:00Z",
        },
        "spec": {"queueName": "lq", "podSets": []},
        "status": status,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-03-02T12:00:10Z",
    })
}

fn see(metrics: &Metrics, old: Value, new: Value) {
    let change = Change::Updated {
        old: workload(old),
        new: workload(new),
    };
    let now = "2026-03-02T12:00:30Z".parse().unwrap();
    metrics
        .inner
        .workloads
        .observe_change(&change, now, ReplicaRole::Standalone, true);
}

#[test]
fn admission_is_counted_once_per_queue() {
    let metrics = Metrics::new(ReplicaRole::Standalone);
    let admitted = json!({
        "admission": {"clusterQueue": "cq", "podSetAssignments": []},
        "conditions": [
            condition("QuotaReserved", "True", "QuotaReserved", ""),
            condition("Admitted", "True", "Admitted", ""),
        ],
    });
    see(&metrics, json!({}), admitted.clone());
    see(&metrics, admitted.clone(), admitted);
    let text = metrics.text(None);
    for line in [
        "kueue_admitted_workloads_total{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 1",
        "kueue_local_queue_admitted_workloads_total{name=\"lq\",namespace=\"team\",priority_class=\"\",replica_role=\"standalone\"} 1",
        "kueue_quota_reserved_wait_time_seconds_sum{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 30.0",
        "kueue_admission_wait_time_seconds_bucket{le=\"40\",cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 1",
        "kueue_admission_checks_wait_time_seconds_sum{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 0.0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[test]
fn execution_time_accumulates_over_evictions() {
    let metrics = Metrics::new(ReplicaRole::Standalone);
    let admission = json!({"clusterQueue": "cq", "podSetAssignments": []});
    let ready = json!({
        "admission": admission,
        "conditions": [
            condition("Admitted", "True", "Admitted", ""),
            condition("PodsReady", "True", "Started", ""),
        ],
    });
    let mut evicted = condition("Evicted", "True", "Preempted", "");
    evicted["lastTransitionTime"] = "2026-03-02T12:00:25Z".into();
    let evictions = json!([{"reason": "Preempted", "underlyingCause": "", "count": 1}]);
    let gone = json!({
        "admission": admission, "schedulingStats": {"evictions": evictions},
        "conditions": [evicted],
    });
    see(&metrics, ready.clone(), gone);
    let mut finished = condition("Finished", "True", "Succeeded", "");
    finished["lastTransitionTime"] = "2026-03-02T12:00:17Z".into();
    let done = json!({
        "admission": admission, "accumulatedPastExecutionTimeSeconds": 100,
        "conditions": [condition("Admitted", "True", "Admitted", ""), finished],
    });
    see(&metrics, ready, done);
    let text = metrics.text(None);
    for line in [
        "kueue_pods_ready_to_evicted_time_seconds_sum{cluster_queue=\"cq\",reason=\"Preempted\",underlying_cause=\"\",replica_role=\"standalone\"} 15.0",
        "kueue_execution_time_seconds_sum{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 107.0",
        "kueue_local_queue_execution_time_seconds_bucket{le=\"20480\",name=\"lq\",namespace=\"team\",priority_class=\"\",replica_role=\"standalone\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[test]
fn preemption_is_counted_for_the_preempting_cluster_queue() {
    let metrics = Metrics::new(ReplicaRole::Leader);
    let message = "Preempted to accommodate a workload (UID: u, JobUID: j) due to prioritization \
                   in the ClusterQueue; preemptor path: /all/team-a; preemptee path: /all/team-b";
    let evictions = |count: i32| json!({"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": count}]});
    let admission = json!({"clusterQueue": "team-b", "podSetAssignments": []});
    let before = json!({
        "admission": admission, "schedulingStats": evictions(1),
        "conditions": [condition("QuotaReserved", "True", "QuotaReserved", "")],
    });
    let evicted = json!({
        "admission": admission, "schedulingStats": evictions(2),
        "conditions": [
            condition("QuotaReserved", "True", "QuotaReserved", ""),
            condition("Evicted", "True", "Preempted", message),
            condition("Preempted", "True", "InClusterQueue", message),
        ],
    });
    let released = json!({
        "schedulingStats": evictions(2),
        "conditions": [
            condition("QuotaReserved", "False", "Pending", ""),
            condition("Evicted", "True", "Preempted", message),
            condition("Preempted", "True", "InClusterQueue", message),
        ],
    });
    see(&metrics, before, evicted.clone());
    see(&metrics, evicted, released);
    let text = metrics.text(None);
    for line in [
        "kueue_preempted_workloads_total{preempting_cluster_queue=\"team-a\",reason=\"InClusterQueue\",replica_role=\"leader\"} 1",
        "kueue_evicted_workloads_total{cluster_queue=\"team-b\",reason=\"Preempted\",underlying_cause=\"\",priority_class=\"\",replica_role=\"standalone\"} 1",
        "kueue_workload_eviction_latency_seconds_sum{cluster_queue=\"team-b\",reason=\"Preempted\",replica_role=\"standalone\"} 20.0",
    ] {
        let line = line.replace("leader", "standalone");
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    assert!(
        !text.contains("kueue_evicted_workloads_once_total{"),
        "not the first time"
    );
}

#[test]
fn attempts_count_skips_and_recomputations() {
    let metrics = Metrics::new(ReplicaRole::Leader);
    let (cycles, role) = (&metrics.inner.scheduler, ReplicaRole::Leader);
    let see = |skipped: u64, counted: &[(RecomputationResult, u64)]| {
        let mut counts = CycleCounts::default();
        if skipped > 0 {
            counts.skipped_preemptions.insert("cq".into(), skipped);
        }
        let counted = counted.iter().copied().collect();
        counts.recomputations.insert("cq".into(), counted);
        let attempt = AdmissionAttempt {
            admitted: false,
            duration: std::time::Duration::from_millis(20),
            counts: &counts,
        };
        cycles.observe_attempt(&attempt, role);
    };
    see(2, &[(RecomputationResult::NewTargets, 1)]);
    see(
        3,
        &[
            (RecomputationResult::NewTargets, 1),
            (RecomputationResult::Skipped, 4),
        ],
    );
    see(0, &[]);
    let text = metrics.text(None);
    for line in [
        "kueue_admission_cycle_preemption_skips{cluster_queue=\"cq\",replica_role=\"leader\"} 3",
        "kueue_preemption_target_recomputations_total{cluster_queue=\"cq\",result=\"new_targets\",replica_role=\"leader\"} 2",
        "kueue_preemption_target_recomputations_total{cluster_queue=\"cq\",result=\"skipped\",replica_role=\"leader\"} 4",
        "kueue_admission_attempts_total{result=\"inadmissible\",replica_role=\"leader\"} 3",
        "kueue_admission_attempt_duration_seconds_bucket{le=\"0.025\",result=\"inadmissible\",replica_role=\"leader\"} 3",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    cycles.clear_cluster_queue("cq", role);
    assert!(!metrics.text(None).contains("cluster_queue=\"cq\""));
}
