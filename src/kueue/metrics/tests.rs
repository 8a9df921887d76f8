//! Values and labels of metrics.

use std::sync::Arc;

use serde_json::{Value, json};

use super::metric_sources::MetricSources;
use super::*;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller::{AdmissionAttempt, MetricEvent};
use kueue_lab_controller_runtime::Change;
use kueue_lab_engine::cycle::{CycleCounts, RecomputationResult};

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
    let sources = MetricSources::without_objects();
    let cohorts = |_: &str| vec!["team".into(), "all".into()];
    metrics.inner.workloads.observe_change(
        &change,
        now,
        ReplicaRole::Standalone,
        &sources,
        cohorts,
    );
}

fn observe_event(metrics: &Metrics, event: &MetricEvent<'_>) {
    let now = "2026-03-02T12:00:30Z".parse().unwrap();
    let sources = MetricSources::without_objects();
    metrics.inner.observe_event(event, now, &sources);
}

fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|l| l == *line), "{line} is not in\n{text}");
    }
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
        "kueue_cohort_subtree_admitted_workloads_total{cohort=\"all\",priority_class=\"\",replica_role=\"standalone\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    assert!(
        !text.contains("kueue_admission_checks_wait_time_seconds_sum"),
        "no admission checks"
    );
}

#[test]
fn admission_checks_are_waited_for_after_the_reservation() {
    let status = |admitted: bool, admission: Option<&str>| {
        let admission =
            admission.map(|queue| json!({"clusterQueue": queue, "podSetAssignments": []}));
        let mut conditions = Vec::new();
        if admission.is_some() {
            conditions.push(condition("QuotaReserved", "True", "QuotaReserved", ""));
        }
        if admitted {
            conditions.push(condition("Admitted", "True", "Admitted", ""));
        }
        let check = json!({
            "name": "c", "state": "Ready", "message": "",
            "lastTransitionTime": "2026-03-02T12:00:10Z",
        });
        json!({"admission": admission, "conditions": conditions, "admissionChecks": [check]})
    };
    let metrics = Metrics::new(ReplicaRole::Standalone);
    // The workload controller admits later, the scheduler at once.
    see(
        &metrics,
        status(false, Some("late")),
        status(true, Some("late")),
    );
    see(&metrics, status(false, None), status(true, Some("once")));
    let sum = |queue: &str, value: &str| {
        format!(
            "kueue_admission_checks_wait_time_seconds_sum{{cluster_queue=\"{queue}\",priority_class=\"\",replica_role=\"standalone\"}} {value}"
        )
    };
    let text = metrics.text(None);
    assert_lines(&text, &[&sum("late", "20.0"), &sum("once", "0.0")]);
}

#[test]
fn readiness_is_observed_for_a_start_and_not_for_a_recovery() {
    let status = |reason: Option<&str>| {
        let mut conditions = vec![condition("Admitted", "True", "Admitted", "")];
        conditions.extend(reason.map(|reason| condition("PodsReady", "True", reason, "")));
        let admission = json!({"clusterQueue": "cq", "podSetAssignments": []});
        json!({"admission": admission, "conditions": conditions})
    };
    let metrics = Metrics::new(ReplicaRole::Standalone);
    see(&metrics, status(None), status(Some("Recovered")));
    assert!(!metrics.text(None).contains("ready_wait_time_seconds_sum"));
    see(&metrics, status(None), status(Some("Started")));
    let text = metrics.text(None);
    for name in [
        "ready_wait_time_seconds",
        "admitted_until_ready_wait_time_seconds",
    ] {
        let count = format!(
            "kueue_{name}_count{{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"}} 1"
        );
        assert_lines(&text, &[&count]);
    }
}

#[test]
fn workload_creation_and_gate_removal_are_observed() {
    let metrics = Metrics::new(ReplicaRole::Standalone);
    let admitted = workload(json!({
        "admission": {"clusterQueue": "cq", "podSetAssignments": []},
        "conditions": [condition("Admitted", "True", "Admitted", "")],
    }));
    for generation in [1, 2] {
        let meta = json!({"generation": generation, "creationTimestamp": "2026-03-02T11:59:59Z"});
        observe_event(
            &metrics,
            &MetricEvent::WorkloadCreated {
                job_kind: "Job",
                job: &serde_json::from_value(meta).unwrap(),
                workload: &admitted,
            },
        );
    }
    for workload in [&admitted, &workload(json!({}))] {
        observe_event(
            &metrics,
            &MetricEvent::SchedulingGateRemoved {
                gate: "kueue.x-k8s.io/topology",
                workload,
                is_group: true,
            },
        );
    }
    observe_event(
        &metrics,
        &MetricEvent::WorkloadSliceReplaced {
            cluster_queue: "cq",
        },
    );
    assert_lines(
        &metrics.text(None),
        &[
            "kueue_workload_creation_latency_seconds_sum{job_kind=\"Job\",replica_role=\"standalone\"} 1.0",
            "kueue_workload_creation_latency_seconds_bucket{le=\"10.24\",job_kind=\"Job\",replica_role=\"standalone\"} 1",
            "kueue_pod_scheduling_gate_removal_seconds_sum{name=\"kueue.x-k8s.io/topology\",cluster_queue=\"cq\",is_group=\"true\",replica_role=\"standalone\"} 20.0",
            "kueue_replaced_workload_slices_total{cluster_queue=\"cq\",replica_role=\"standalone\"} 1",
        ],
    );
}

#[test]
fn series_of_a_deleted_cluster_queue_are_deleted() {
    let metrics = Metrics::new(ReplicaRole::Standalone);
    let reserved = json!({
        "admission": {"clusterQueue": "cq", "podSetAssignments": []},
        "conditions": [condition("QuotaReserved", "True", "QuotaReserved", "")],
    });
    see(&metrics, json!({}), reserved);
    let workloads = &metrics.inner.workloads;
    workloads.clear_cluster_queue("cq");
    let text = metrics.text(None);
    assert!(!text.contains("cluster_queue=\"cq\""), "{text}");
    assert!(text.contains("kueue_local_queue_quota_reserved_workloads_total{name=\"lq\""));
    workloads.clear_local_queue("team", "lq");
    assert!(!metrics.text(None).contains("name=\"lq\""));
}

#[test]
fn the_eviction_of_a_workload_without_admission_is_not_counted() {
    let metrics = Metrics::new(ReplicaRole::Standalone);
    let evicted = condition("Evicted", "True", "Deactivated", "");
    let evictions = json!([{"reason": "Deactivated", "underlyingCause": "", "count": 1}]);
    let status = json!({"schedulingStats": {"evictions": evictions}, "conditions": [evicted]});
    see(&metrics, json!({}), status.clone());
    let text = metrics.text(None);
    assert!(!text.contains("kueue_evicted_workloads_total{"), "{text}");
    let admission = json!({"clusterQueue": "cq", "podSetAssignments": []});
    see(&metrics, json!({"admission": admission}), status);
    let text = metrics.text(None);
    let line = "kueue_evicted_workloads_total{cluster_queue=\"cq\",reason=\"Deactivated\"";
    assert!(text.contains(line), "{text}");
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
                   in the ClusterQueue; preemptor path: /all/x; preemptee path: /all/team-b";
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
    observe_event(
        &metrics,
        &MetricEvent::Preempted {
            preempting_cluster_queue: "team-a",
            reason: "InClusterQueue",
        },
    );
    let text = metrics.text(None);
    for line in [
        "kueue_preempted_workloads_total{preempting_cluster_queue=\"team-a\",reason=\"InClusterQueue\",replica_role=\"leader\"} 1",
        "kueue_evicted_workloads_total{cluster_queue=\"team-b\",reason=\"Preempted\",underlying_cause=\"\",priority_class=\"\",replica_role=\"standalone\"} 1",
        "kueue_workload_eviction_latency_seconds_sum{cluster_queue=\"team-b\",reason=\"Preempted\",replica_role=\"standalone\"} 20.0",
    ] {
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
        observe_event(&metrics, &MetricEvent::AdmissionAttempt(attempt));
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
    metrics.inner.scheduler.clear_cluster_queue("cq");
    assert!(!metrics.text(None).contains("cluster_queue=\"cq\""));
}
