//! The status of queues.

use serde_json::json;

use super::SharedContext;
use crate::objects::{
    CLUSTER_QUEUE, GPU, JOB, LOCAL_QUEUE, RESOURCE_FLAVOR, as_integer, condition, is_condition_true,
};

pub(super) async fn a_queue_is_active_when_its_references_exist(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let flavor = ns.cluster_scoped_name("late");
    let queue = ns.cluster_scoped_name("cq");
    ns.local_queue("lq", &queue).await;
    let active = |wanted: &'static str| move |o: &_| condition(o, "Active") == wanted;
    let missing = active("False/ClusterQueueDoesNotExist");
    ns.wait_until(LOCAL_QUEUE, "lq", "its ClusterQueue is missing", missing)
        .await;
    let group = json!({"coveredResources": [GPU], "flavors": [
        {"name": flavor, "resources": [{"name": GPU, "nominalQuota": "4"}]},
    ]});
    let spec = json!({"namespaceSelector": {}, "resourceGroups": [group]});
    let object = json!({"metadata": {"name": queue}, "spec": spec});
    ns.create(CLUSTER_QUEUE, object).await;
    let missing = active("False/FlavorNotFound");
    ns.wait_until(CLUSTER_QUEUE, &queue, "its flavor is missing", missing)
        .await;
    let inactive = active("False/ClusterQueueIsInactive");
    ns.wait_until(LOCAL_QUEUE, "lq", "its ClusterQueue is inactive", inactive)
        .await;
    let job = ns.job("early", "lq", 4, 1).await;
    ns.wait_for_workload(&job, "it is there", |_| true).await;
    ns.create(RESOURCE_FLAVOR, json!({"metadata": {"name": flavor}}))
        .await;
    let ready = active("True/Ready");
    ns.wait_until(CLUSTER_QUEUE, &queue, "it is active", &ready)
        .await;
    ns.wait_until(LOCAL_QUEUE, "lq", "it is active", &ready)
        .await;
    let complete = |o: &_| is_condition_true(o, "Complete");
    ns.wait_until(JOB, "early", "it is complete", complete)
        .await;
}

pub(super) async fn pending_and_admitted_workloads_are_counted(
    SharedContext { ns, .. }: SharedContext<'_>,
) {
    let queue = ns.create_queues("lq", 4, json!({})).await;
    for name in ["first", "second", "third"] {
        ns.job(name, "lq", 4, 100_000).await;
    }
    let counted = |pending: i64| {
        move |o: &serde_json::Value| {
            let status = &o["status"];
            as_integer(&status["pendingWorkloads"]) == pending
                && as_integer(&status["reservingWorkloads"]) == 1
                && as_integer(&status["admittedWorkloads"]) == 1
        }
    };
    for pending in [2, 1, 0] {
        let what = format!("one runs and {pending} wait");
        for (kind, name) in [(CLUSTER_QUEUE, queue.as_str()), (LOCAL_QUEUE, "lq")] {
            ns.wait_until(kind, name, &what, counted(pending)).await;
        }
        ns.assert_consistent().await;
        let jobs = ns.list(JOB).await;
        let running = jobs.iter().find(|job| job["spec"]["suspend"] == false);
        let running = crate::objects::name(running.unwrap()).to_owned();
        ns.delete(JOB, &running).await;
    }
    let empty = |o: &serde_json::Value| {
        let usage = &o["status"]["flavorsUsage"][0]["resources"][0];
        usage["name"] == GPU && as_integer(&usage["total"]) == 0
    };
    ns.wait_until(CLUSTER_QUEUE, &queue, "nothing is used", empty)
        .await;
}

pub(super) async fn a_stopped_queue_admits_nothing(SharedContext { ns, .. }: SharedContext<'_>) {
    let queue = ns.create_queues("lq", 8, json!({})).await;
    ns.job("running", "lq", 4, 100_000).await;
    ns.wait_until_running("running").await;
    let stop = |policy: &str| json!({"spec": {"stopPolicy": policy}});
    ns.merge(CLUSTER_QUEUE, &queue, stop("Hold")).await;
    let stopped = |o: &_| condition(o, "Active") == "False/Stopped";
    ns.wait_until(CLUSTER_QUEUE, &queue, "it is stopped", stopped)
        .await;
    let late = ns.job("late", "lq", 4, 100_000).await;
    let inactive = |o: &_| condition(o, "QuotaReserved") == "False/Suspended";
    ns.wait_for_workload(&late, "it is inadmissible", inactive)
        .await;
    ns.wait_until_running("running").await;
    ns.merge(CLUSTER_QUEUE, &queue, stop("HoldAndDrain")).await;
    ns.wait_until_suspended("running").await;
    ns.assert_consistent().await;
    ns.merge(CLUSTER_QUEUE, &queue, stop("None")).await;
    ns.wait_until_running("running").await;
    ns.wait_until_running("late").await;
    ns.assert_consistent().await;
}

pub(super) async fn invalid_queues_are_rejected(SharedContext { ns, .. }: SharedContext<'_>) {
    let rejected = async |kind, object: serde_json::Value| {
        let made = ns.try_create(kind, object).await;
        match made {
            Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
            other => panic!("not rejected: {other:?}"),
        }
    };
    let flavors = json!([{"name": "suite", "resources": [{"name": GPU, "nominalQuota": "-1"}]}]);
    let group = json!({"coveredResources": [GPU], "flavors": flavors});
    let spec = json!({"resourceGroups": [group]});
    let object = json!({"metadata": {"name": ns.cluster_scoped_name("bad")}, "spec": spec});
    let (code, message) = rejected(CLUSTER_QUEUE, object).await;
    assert_eq!(code, 403, "{message}");
    let expected = "nominalQuota: Invalid value: \"-1\": must be greater than or equal to 0";
    assert!(message.contains(expected), "{message}");
    let spec = json!({"queueingStrategy": "Fastest"});
    let object = json!({"metadata": {"name": ns.cluster_scoped_name("bad")}, "spec": spec});
    let (code, message) = rejected(CLUSTER_QUEUE, object).await;
    assert_eq!(code, 422, "{message}");
    assert!(
        message.contains("Unsupported value: \"Fastest\""),
        "{message}"
    );
    ns.create_queues("lq", 4, json!({})).await;
    ns.job("good", "lq", 4, 100_000).await;
    ns.wait_until_running("good").await;
    let object = json!({"spec": {"clusterQueue": "another"}});
    let (params, patch) = (Default::default(), kube::api::Patch::Merge(&object));
    let changed = ns.api(LOCAL_QUEUE).patch("lq", &params, &patch).await;
    let message = changed.unwrap_err().to_string();
    assert!(message.contains("field is immutable"), "{message}");
}
