//! The way back.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::ExclusiveContext;
use crate::objects::{
    JOB, POD, POD_GATE, WORKLOAD, condition, lab_labelled_objects, name, pod_spec,
};

pub async fn suspended_jobs_are_released_on_uninstall(
    ExclusiveContext { stage, place }: ExclusiveContext<'_>,
) {
    let lab = place.start().await;
    stage.create_queues("lq", 4, json!({})).await;
    stage.job("running", "lq", 4, 100_000).await;
    stage.wait_until_running("running").await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let pending = stage.job("pending", "lq", 4, 100_000).await;
    stage.wait_for_workload(&pending, "it waits", waits).await;
    let stopped = stage.job("stopped", "lq", 4, 100_000).await;
    let workload = stage
        .wait_for_workload(&stopped, "it is there", |_| true)
        .await;
    let off = json!({"spec": {"active": false}});
    stage.merge(WORKLOAD, name(&workload), off).await;
    let labels = json!({"kueue.x-k8s.io/queue-name": "lq"});
    let pod =
        json!({"metadata": {"name": "gated", "labels": labels}, "spec": pod_spec(4, 100_000)});
    let pod = stage.create(POD, pod).await;
    assert_eq!(pod["spec"]["schedulingGates"][0]["name"], POD_GATE);
    stage.wait_for_workload(&pod, "it waits", waits).await;
    stage.assert_consistent().await;
    assert_eq!(lab.running.stop().await, Some(0));

    let target = place.existing().await.context_args();
    let command = ["uninstall".to_owned(), "--yes".to_owned()];
    let said = place.run(command.into_iter().chain(target)).await;
    let has = |line: &str| said.lines().any(|l| l == line);
    let namespace = &stage.namespace;
    assert!(has(&format!("can run: Job {namespace}/pending")), "{said}");
    assert!(
        has(&format!("can be scheduled: pod {namespace}/gated")),
        "{said}"
    );
    assert!(has("removed: kind workloads.kueue.x-k8s.io"), "{said}");
    let why = format!("left: Job {namespace}/stopped is suspended: its Workload ");
    assert!(said.lines().any(|l| l.starts_with(&why)), "{said}");

    assert_eq!(stage.get(JOB, "pending").await["spec"]["suspend"], false);
    assert_eq!(stage.get(JOB, "stopped").await["spec"]["suspend"], true);
    assert_eq!(stage.get(JOB, "running").await["spec"]["suspend"], false);
    let pod = stage.get(POD, "gated").await;
    let none = |field: &Value| field.is_null() || field == &json!([]);
    assert!(none(&pod["spec"]["schedulingGates"]), "{pod}");
    assert!(none(&pod["metadata"]["finalizers"]), "{pod}");
    let left = lab_labelled_objects(&stage.client).await;
    let left: Vec<_> = left
        .into_iter()
        .filter(|l| !l.starts_with("Node "))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "the nodes go with `down`");
    let workloads: kube::Result<kube::core::ObjectList<DynamicObject>> =
        stage.api(WORKLOAD).list(&Default::default()).await;
    assert!(workloads.is_err(), "the kind is not served any more");

    // Jobs of new queues are nobody's business now.
    let job = stage.job("later", "lq", 1, 1).await;
    assert_ne!(job["spec"]["suspend"], true);
    // Whoever comes next takes up where this one was.
    let lab = place.start().await;
    stage.wait_until_suspended("later").await;
    assert_eq!(lab.running.stop().await, Some(0));
}
