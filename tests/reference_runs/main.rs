//! Repeats the seven reference runs of upstream Kueue on the embedded cluster and compares conditions and
//! Events.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../controller/kueue_server.rs"]
mod kueue_server;
mod reference_run;
mod timeline;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use reference_run::{ReferenceRun, replay, run_virtually};

const COMMON: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 100
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000";

/// Creates a ClusterQueue with this quota; `more` is added to its spec.
async fn cluster_queue(run: &ReferenceRun, name: &str, cpu: u32, more: &str) {
    run.apply(&format!(
        "apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
{more}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default-flavor
      resources: [{{name: cpu, nominalQuota: {cpu}}}]"
    ))
    .await;
}

const LOWER: &str = "  preemption: {withinClusterQueue: LowerPriority}";

fn cpu(amount: u32) -> Value {
    json!({"requests": {"cpu": amount.to_string()}})
}

#[test]
fn pods_of_higher_priority_preempt() {
    replay("pod-priority-preemption", async |run| {
        run.apply(COMMON).await;
        cluster_queue(run, "cq-a", 9, LOWER).await;
        run.namespace("ns-a", &[("lq", "cq-a")]).await;
        run.at(0.0).await;
        run.pod(("ns-a", "pod-low"), "low", 6, 600, None).await;
        run.at(5.7).await;
        run.pod(("ns-a", "pod-high"), "high", 6, 8, None).await;
        run.at(21.0).await;
    });
}

#[test]
fn higher_priority_jobs_preempt_and_the_lower_one_is_readmitted() {
    replay("job-priority-preemption", async |run| {
        run.apply(COMMON).await;
        cluster_queue(run, "cq-b", 9, LOWER).await;
        run.namespace("ns-b", &[("lq", "cq-b")]).await;
        run.at(0.0).await;
        run.job(("ns-b", "job-low"), "lq", "low", 2, cpu(3), 30)
            .await;
        run.at(5.2).await;
        run.job(("ns-b", "job-high"), "lq", "high", 1, cpu(6), 8)
            .await;
        run.at(55.0).await;
    });
}

#[test]
fn borrowed_quota_is_reclaimed() {
    replay("cohort-borrow-and-reclaim", async |run| {
        run.apply(COMMON).await;
        let more = "  cohortName: team\n  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}";
        cluster_queue(run, "cq-c1", 6, more).await;
        cluster_queue(run, "cq-c2", 6, more).await;
        run.namespace("ns-c", &[("lq", "cq-c1"), ("lq2", "cq-c2")])
            .await;
        run.at(0.0).await;
        run.job(("ns-c", "c1-j1"), "lq", "low", 2, cpu(3), 60).await;
        run.at(2.9).await;
        run.job(("ns-c", "c1-j2"), "lq", "low", 2, cpu(2), 20).await;
        run.at(7.8).await;
        run.job(("ns-c", "c1-big"), "lq", "low", 1, cpu(20), 5)
            .await;
        run.at(12.5).await;
        run.job(("ns-c", "c1-j3"), "lq", "low", 1, cpu(4), 5).await;
        run.at(16.7).await;
        run.delete_job("ns-c", "c1-j3").await;
        run.delete_job("ns-c", "c1-big").await;
        run.at(17.7).await;
        run.job(("ns-c", "c2-j1"), "lq2", "low", 1, cpu(6), 10)
            .await;
        run.at(63.0).await;
    });
}

async fn create_pod_group(run: &ReferenceRun) {
    run.apply(COMMON).await;
    cluster_queue(run, "cq-d", 9, "").await;
    run.namespace("ns-d", &[("lq", "cq-d")]).await;
    run.at(0.0).await;
    run.pod(("ns-d", "blocker"), "low", 6, 18, None).await;
    let names = [("g-0", 1.8), ("g-1", 3.7), ("g-2", 6.5)];
    for (name, at) in names {
        run.at(at).await;
        run.pod(("ns-d", name), "low", 2, 6, Some(("gang", 3)))
            .await;
    }
    let pods: Api<Pod> = Api::namespaced(run.client.clone(), "ns-d");
    // kubectl deletes one after another, each with a request that takes time. Within one instant of
    // lab time the order of the controllers is not defined.
    for (index, (name, _)) in names.into_iter().enumerate() {
        run.at(29.5 + 0.05 * index as f64).await;
        pods.delete(name, &DeleteParams::default()).await.unwrap();
    }
    run.at(32.0).await;
}

#[test]
fn a_group_is_admitted_together() {
    replay("pod-group", create_pod_group);
}

#[test]
fn two_runs_have_equal_objects_and_resource_versions() {
    let kinds = [
        ("", "v1", "Namespace"),
        ("", "v1", "Node"),
        ("", "v1", "Pod"),
        ("", "v1", "Event"),
        ("coordination.k8s.io", "v1", "Lease"),
        ("kueue.x-k8s.io", "v1beta2", "ClusterQueue"),
        ("kueue.x-k8s.io", "v1beta2", "LocalQueue"),
        ("kueue.x-k8s.io", "v1beta2", "Workload"),
    ];
    let once = || run_virtually(create_pod_group, async |run| run.objects(&kinds).await);
    let first = once();
    // Every write increments the resourceVersion, so a different order or number of writes is detected.
    // Repeated to detect rare differences.
    for _ in 0..4 {
        assert_same(&first, &once());
    }
}

/// Compares objects one by one, so that the failure shows the first that differs.
fn assert_same(first: &[Value], again: &[Value]) {
    for (a, b) in first.iter().zip(again) {
        assert_eq!(a, b);
    }
    assert_eq!(first.len(), again.len());
}

const PROVISIONING: (&str, &str, &str) = ("autoscaling.x-k8s.io", "v1", "ProvisioningRequest");

async fn provisioning(run: &ReferenceRun, job: &str, attempt: u32, condition: Value) {
    let name = format!("{}-prov-check-{attempt}", run.workload(job));
    let mut conditions = vec![
        json!({"type": "Accepted", "status": "True", "reason": "Accepted",
        "message": "accepted-by-hand", "lastTransitionTime": run.clock.time()}),
    ];
    if condition["type"] != "Accepted" {
        let mut condition = condition;
        condition["lastTransitionTime"] = json!(run.clock.time());
        conditions.push(condition);
    }
    run.patch(
        PROVISIONING,
        "ns-e",
        &name,
        json!({"status": {"conditions": conditions}}),
    )
    .await;
}

#[test]
fn an_admission_check_creates_a_provisioning_request() {
    replay("provisioning-request", async |run| {
        run.apply(COMMON).await;
        run.apply(include_str!("provisioning.yaml")).await;
        run.namespace("ns-e", &[("lq", "cq-e")]).await;
        let gpu = || json!({"requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}});
        run.at(0.0).await;
        run.job(("ns-e", "gpu-job"), "lq", "", 2, gpu(), 5).await;
        run.at(2.9).await;
        provisioning(run, "gpu-job", 1, json!({"type": "Accepted"})).await;
        run.at(6.9).await;
        let message = "eta-2-minutes";
        let not_yet = json!({"type": "Provisioned", "status": "False", "reason": "NotProvisionedYet", "message": message});
        provisioning(run, "gpu-job", 1, not_yet).await;
        run.at(10.5).await;
        let done = json!({"type": "Provisioned", "status": "True", "reason": "Provisioned", "message": "provisioned-by-hand"});
        provisioning(run, "gpu-job", 1, done).await;
        run.at(20.2).await;
        run.job(("ns-e", "gpu-fail"), "lq", "", 2, gpu(), 5).await;
        run.at(21.6).await;
        let failed = |message: &str| json!({"type": "Failed", "status": "True", "reason": "OutOfStock", "message": message});
        provisioning(run, "gpu-fail", 1, failed("no-capacity-here")).await;
        run.at(28.7).await;
        provisioning(run, "gpu-fail", 2, failed("no-capacity-again")).await;
        run.at(33.2).await;
    });
}

async fn strict_queues(run: &ReferenceRun) {
    run.apply(COMMON).await;
    cluster_queue(run, "cq-f", 4, "  queueingStrategy: StrictFIFO").await;
    run.apply(
        "apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq-badflavor}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: no-such-flavor, resources: [{name: cpu, nominalQuota: 1}]}]",
    )
    .await;
    let queues = [
        ("lq", "cq-f"),
        ("lq-orphan", "does-not-exist"),
        ("lq-hold", "cq-f"),
        ("lq-badflavor", "cq-badflavor"),
    ];
    run.namespace("ns-f", &queues).await;
    policy(run, "LocalQueue", "lq-hold", "Hold").await;
}

async fn policy(run: &ReferenceRun, kind: &str, name: &str, policy: &str) {
    let namespace = if kind == "LocalQueue" { "ns-f" } else { "" };
    let patch = json!({"spec": {"stopPolicy": policy}});
    run.patch(("kueue.x-k8s.io", "v1beta2", kind), namespace, name, patch)
        .await;
}

async fn active(run: &ReferenceRun, job: &str, active: bool) {
    let (name, patch) = (run.workload(job), json!({"spec": {"active": active}}));
    run.patch(
        ("kueue.x-k8s.io", "v1beta2", "Workload"),
        "ns-f",
        &name,
        patch,
    )
    .await;
}

async fn run_pending_reasons(run: &ReferenceRun) {
    run.at(0.0).await;
    let job = async |name: &str, queue: &str, resources: Value, seconds| {
        run.job(("ns-f", name), queue, "low", 1, resources, seconds)
            .await;
    };
    job("j-nolq", "no-such-lq", cpu(1), 5).await;
    job("j-nocq", "lq-orphan", cpu(1), 5).await;
    job("j-hold", "lq-hold", cpu(1), 5).await;
    job("j-badflavor", "lq-badflavor", cpu(1), 5).await;
    job(
        "j-mem",
        "lq",
        json!({"requests": {"cpu": "1", "memory": "1Gi"}}),
        5,
    )
    .await;
    run.at(4.9).await;
    run.delete_job("ns-f", "j-mem").await;
    run.at(5.0).await;
    job("run1", "lq", cpu(3), 600).await;
    run.at(6.0).await;
    // One second longer than in the recording, so that it finishes after `small` as there.
    job("head", "lq", cpu(3), 6).await;
    run.at(7.0).await;
    job("small", "lq", cpu(1), 5).await;
}

#[test]
fn pending_reasons() {
    replay("pending-reasons-and-strict-fifo", async |run| {
        strict_queues(run).await;
        run_pending_reasons(run).await;
        run.at(21.6).await;
        policy(run, "ClusterQueue", "cq-f", "HoldAndDrain").await;
        run.at(25.7).await;
    });
}

#[test]
fn queues_and_workloads_are_stopped_and_resumed() {
    replay("stop-policies", async |run| {
        strict_queues(run).await;
        run_pending_reasons(run).await;
        run.at(21.0).await;
        policy(run, "ClusterQueue", "cq-f", "HoldAndDrain").await;
        run.at(45.0).await;
        policy(run, "ClusterQueue", "cq-f", "None").await;
        run.at(45.3).await;
        run.reset_timeline();
        run.at(62.0).await;
        active(run, "run1", false).await;
        run.at(67.1).await;
        active(run, "run1", true).await;
        run.at(73.6).await;
        policy(run, "LocalQueue", "lq", "HoldAndDrain").await;
        run.at(77.8).await;
        policy(run, "LocalQueue", "lq", "None").await;
        run.at(81.0).await;
        policy(run, "ClusterQueue", "cq-f", "Hold").await;
        run.at(85.2).await;
        policy(run, "ClusterQueue", "cq-f", "None").await;
        run.at(88.0).await;
    });
}
