//! Plain Pods and pod groups.

use serde_json::{Value, json};

use super::SharedContext;
use crate::objects::{POD, POD_GATE, WORKLOAD, condition, is_condition_true, pod_spec};
use crate::test_namespace::TestNamespace;

async fn pod(
    ns: &TestNamespace,
    name: &str,
    gpus: u32,
    seconds: u32,
    group: Option<(&str, u32)>,
) -> Value {
    let mut meta = json!({"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}});
    if let Some((group, count)) = group {
        meta["labels"]["kueue.x-k8s.io/pod-group-name"] = group.into();
        let key = "kueue.x-k8s.io/pod-group-total-count";
        meta["annotations"] = json!({key: count.to_string()});
    }
    let object = json!({"metadata": meta, "spec": pod_spec(gpus, seconds)});
    ns.create(POD, object).await
}

fn is_gated(pod: &Value) -> bool {
    let gates = pod["spec"]["schedulingGates"].as_array();
    gates.into_iter().flatten().any(|g| g["name"] == POD_GATE)
}

fn has_phase(pod: &Value, phase: &str) -> bool {
    pod["status"]["phase"] == phase
}

pub(super) async fn a_pod_waits_behind_its_scheduling_gate(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    ns.create_queues("lq", 4, json!({})).await;
    let first = pod(ns, "first", 4, 100_000, None).await;
    assert!(is_gated(&first), "it is gated on creation");
    let running = |o: &Value| !is_gated(o) && has_phase(o, "Running");
    let first = ns.wait_until(POD, "first", "it runs", running).await;
    assert_eq!(first["spec"]["nodeSelector"]["kueue-lab.dev/pool"], "suite");
    let second = pod(ns, "second", 4, 1, None).await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    ns.wait_for_workload(&second, "it waits", waits).await;
    assert!(is_gated(&ns.get(POD, "second").await));
    ns.assert_consistent().await;
    ns.delete(POD, "first").await;
    let over = |o: &Value| has_phase(o, "Succeeded");
    ns.wait_until(POD, "second", "it has finished", over).await;
    let finished = |wl: &_| is_condition_true(wl, "Finished");
    ns.wait_for_workload(&second, "it is finished", finished)
        .await;
    ns.assert_consistent().await;
}

pub(super) async fn a_pod_group_is_admitted_as_a_whole(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    ns.create_queues("lq", 4, json!({})).await;
    let group = Some(("gang", 2));
    let one = pod(ns, "one", 2, 2, group).await;
    assert!(is_gated(&one));
    // A later pod, so that the first half has had time to be admitted.
    pod(ns, "passer-by", 1, 1, None).await;
    let over = |o: &Value| has_phase(o, "Succeeded");
    ns.wait_until(POD, "passer-by", "it has run", over).await;
    assert!(
        is_gated(&ns.get(POD, "one").await),
        "an incomplete group is gated"
    );
    pod(ns, "two", 2, 2, group).await;
    for name in ["one", "two"] {
        ns.wait_until(POD, name, "it has finished", over).await;
    }
    let finished = |wl: &Value| is_condition_true(wl, "Finished");
    let workload = ns
        .wait_until(WORKLOAD, "gang", "it is finished", finished)
        .await;
    let sets = workload["spec"]["podSets"].as_array().unwrap();
    assert_eq!(
        sets.iter()
            .map(|s| s["count"].as_i64().unwrap())
            .sum::<i64>(),
        2
    );
    ns.assert_consistent().await;
}
