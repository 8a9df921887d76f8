//! `down` and `uninstall`.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::ExclusiveContext;
use crate::objects::{
    JOB, POD, POD_GATE, WORKLOAD, condition, lab_labelled_objects, name, pod_spec,
};

pub(super) async fn suspended_jobs_are_released_on_uninstall(
    ExclusiveContext { ns, cluster }: ExclusiveContext<'_>,
) {
    let lab = cluster.start().await;
    ns.create_queues("lq", 4, json!({})).await;
    ns.job("running", "lq", 4, 100_000).await;
    ns.wait_until_running("running").await;
    let waits = |wl: &_| condition(wl, "QuotaReserved") == "False/WaitingForQuota";
    let pending = ns.job("pending", "lq", 4, 100_000).await;
    ns.wait_for_workload(&pending, "it waits", waits).await;
    let stopped = ns.job("stopped", "lq", 4, 100_000).await;
    let workload = ns
        .wait_for_workload(&stopped, "it is there", |_| true)
        .await;
    let off = json!({"spec": {"active": false}});
    ns.merge(WORKLOAD, name(&workload), off).await;
    let labels = json!({"kueue.x-k8s.io/queue-name": "lq"});
    let pod =
        json!({"metadata": {"name": "gated", "labels": labels}, "spec": pod_spec(4, 100_000)});
    let pod = ns.create(POD, pod).await;
    assert_eq!(pod["spec"]["schedulingGates"][0]["name"], POD_GATE);
    ns.wait_for_workload(&pod, "it waits", waits).await;
    ns.assert_consistent().await;
    assert_eq!(lab.running.stop().await, Some(0));

    let target = cluster.existing().await.context_args();
    let command = ["uninstall".to_owned(), "--yes".to_owned()];
    let printed = cluster.run(command.into_iter().chain(target)).await;
    let has = |line: &str| printed.lines().any(|l| l == line);
    let namespace = &ns.namespace;
    assert!(
        has(&format!("can run: Job {namespace}/pending")),
        "{printed}"
    );
    assert!(
        has(&format!("can be scheduled: pod {namespace}/gated")),
        "{printed}"
    );
    assert!(has("removed: kind workloads.kueue.x-k8s.io"), "{printed}");
    let why = format!("left: Job {namespace}/stopped is suspended: its Workload ");
    assert!(printed.lines().any(|l| l.starts_with(&why)), "{printed}");

    assert_eq!(ns.get(JOB, "pending").await["spec"]["suspend"], false);
    assert_eq!(ns.get(JOB, "stopped").await["spec"]["suspend"], true);
    assert_eq!(ns.get(JOB, "running").await["spec"]["suspend"], false);
    let pod = ns.get(POD, "gated").await;
    let none = |field: &Value| field.is_null() || field == &json!([]);
    assert!(none(&pod["spec"]["schedulingGates"]), "{pod}");
    assert!(none(&pod["metadata"]["finalizers"]), "{pod}");
    let left = lab_labelled_objects(&ns.client).await;
    let left: Vec<_> = left
        .into_iter()
        .filter(|l| !l.starts_with("Node "))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "`down` deletes the nodes");
    let workloads: kube::Result<kube::core::ObjectList<DynamicObject>> =
        ns.api(WORKLOAD).list(&Default::default()).await;
    assert!(workloads.is_err(), "the kind is not served");

    // Jobs of new queues are unmanaged now. A node of the cluster with a GPU may run this one, so it lasts.
    let job = ns.job("later", "lq", 1, 100_000).await;
    assert_ne!(job["spec"]["suspend"], true);
    // The next lab manages them again.
    let lab = cluster.start().await;
    ns.wait_until_suspended("later").await;
    assert_eq!(lab.running.stop().await, Some(0));
}
