//! The reference runs.

use serde_json::json;

use super::recorded_run::replay;

/// An Event that depends on the order of two controllers, and one of a second scheduling attempt.
const NONDETERMINISTIC_EVENTS: &[&str] = &["WaitForRecovery", "WaitForStart"];

/// Events about any one pod of a group.
const EVENTS_ON_ANY_GROUP_POD: &[&str] = &["CreatedWorkload", "FinishedWorkload"];

#[test]
fn a_high_priority_job_preempts_and_the_low_one_is_readmitted() {
    replay(
        "job-priority-preemption",
        "ns-b",
        "1-low-running",
        |s| async move {
            s.job("job-low", "lq", "low", 2, json!({"cpu": "3"}), 30)
                .await;
            s.sleep(3.5).await;
            s.compare("1-low-running", &[]).await;
            s.sleep(1.5).await;
            s.job("job-high", "lq", "high", 1, json!({"cpu": "6"}), 8)
                .await;
            s.sleep(4.5).await;
            s.compare("3-high-running", NONDETERMINISTIC_EVENTS).await;
            s.sleep(11.0).await;
            s.compare("4-low-readmitted", &[]).await;
            s.sleep(31.0).await;
            s.compare("5-end", &[]).await;
        },
    );
}

#[test]
fn a_pod_of_high_priority_preempts() {
    replay(
        "pod-priority-preemption",
        "ns-a",
        "1-low-running",
        |s| async move {
            s.pod("pod-low", "low", 6, 600, None).await;
            s.sleep(3.4).await;
            s.compare("1-low-running", &[]).await;
            s.sleep(2.3).await;
            s.pod("pod-high", "high", 6, 8, None).await;
            s.sleep(6.4).await;
            s.compare("3-high-running", &[]).await;
            s.sleep(8.0).await;
            s.compare("4-end", &[]).await;
        },
    );
}

#[test]
fn quota_is_borrowed_and_reclaimed() {
    replay(
        "cohort-borrow-and-reclaim",
        "ns-c",
        "1-borrowing",
        |s| async move {
            s.job("c1-j1", "lq", "low", 2, json!({"cpu": "3"}), 60)
                .await;
            s.sleep(2.9).await;
            s.job("c1-j2", "lq", "low", 2, json!({"cpu": "2"}), 20)
                .await;
            s.sleep(2.5).await;
            s.compare("1-borrowing", &[]).await;
            s.sleep(2.4).await;
            s.job("c1-big", "lq", "low", 1, json!({"cpu": "20"}), 5)
                .await;
            s.sleep(2.4).await;
            s.compare("2-toobig", &[]).await;
            s.sleep(2.3).await;
            s.job("c1-j3", "lq", "low", 1, json!({"cpu": "4"}), 5).await;
            s.sleep(2.5).await;
            s.compare("3-pending", &[]).await;
            s.delete_jobs(&["c1-big", "c1-j3"]).await;
            s.sleep(2.7).await;
            s.job("c2-j1", "lq2", "low", 1, json!({"cpu": "6"}), 10)
                .await;
            s.sleep(4.0).await;
            s.compare("5-reclaimed", NONDETERMINISTIC_EVENTS).await;
        },
    );
}

#[test]
fn three_pods_of_a_group_start_together() {
    replay("pod-group", "ns-d", "1-two-of-three", |s| async move {
        s.pod("blocker", "low", 6, 18, None).await;
        s.sleep(1.8).await;
        s.pod("g-0", "low", 2, 6, Some("gang")).await;
        s.sleep(1.9).await;
        s.pod("g-1", "low", 2, 6, Some("gang")).await;
        s.sleep(1.8).await;
        s.compare("1-two-of-three", &[]).await;
        s.sleep(1.0).await;
        s.pod("g-2", "low", 2, 6, Some("gang")).await;
        s.sleep(2.2).await;
        s.compare("2-group-pending", EVENTS_ON_ANY_GROUP_POD).await;
        s.sleep(12.0).await;
        s.compare("3-group-running", EVENTS_ON_ANY_GROUP_POD).await;
        s.sleep(7.8).await;
        s.compare("4-end", EVENTS_ON_ANY_GROUP_POD).await;
    });
}

#[test]
fn pending_reasons_and_stop_policies() {
    replay(
        "pending-reasons-and-strict-fifo",
        "ns-f",
        "1-pending-reasons",
        |s| async move {
            let cpu = json!({"cpu": "1"});
            s.job("j-nolq", "no-such-lq", "low", 1, cpu.clone(), 5)
                .await;
            s.job("j-nocq", "lq-orphan", "low", 1, cpu.clone(), 5).await;
            s.job("j-hold", "lq-hold", "low", 1, cpu.clone(), 5).await;
            s.job("j-badflavor", "lq-badflavor", "low", 1, cpu.clone(), 5)
                .await;
            s.job(
                "j-mem",
                "lq",
                "low",
                1,
                json!({"cpu": "1", "memory": "1Gi"}),
                5,
            )
            .await;
            s.sleep(3.1).await;
            s.compare("1-pending-reasons", &[]).await;
            s.delete_jobs(&["j-mem"]).await;
            s.sleep(1.0).await;
            s.job("run1", "lq", "low", 1, json!({"cpu": "3"}), 600)
                .await;
            s.sleep(1.5).await;
            s.job("head", "lq", "low", 1, json!({"cpu": "3"}), 5).await;
            s.sleep(1.5).await;
            s.job("small", "lq", "low", 1, cpu, 5).await;
            s.sleep(2.7).await;
            s.compare("2-strictfifo", &[]).await;
        },
    );
}
