//! The watched presets folder.

use serde_json::{Value, json};

use super::SharedContext;
use crate::objects::{CLUSTER_QUEUE, as_integer};
use crate::wait::eventually;

fn queue(name: &str, gpus: &str) -> String {
    format!(
        "apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: suite
      resources: [{{name: nvidia.com/gpu, nominalQuota: {gpus}}}]
"
    )
}

fn quota(queue: &Value) -> i64 {
    let flavors = &queue["spec"]["resourceGroups"][0]["flavors"];
    as_integer(&flavors[0]["resources"][0]["nominalQuota"])
}

/// The only test case that writes to the folder.
pub(super) async fn a_saved_preset_is_applied_and_an_invalid_one_is_not(
    context: SharedContext<'_>,
) {
    let SharedContext { ns, cluster, lab } = context;
    let (one, two, mine) = (
        ns.cluster_scoped_name("one"),
        ns.cluster_scoped_name("two"),
        ns.cluster_scoped_name("mine"),
    );
    for name in [&one, &two] {
        ns.register_for_cleanup(CLUSTER_QUEUE, name);
    }
    let file = "presets/suite/queues.yaml";
    cluster.work_dir().write(file, &queue(&one, "4"));
    let has = |gpus: i64| move |o: &Value| quota(o) == gpus;
    let made = ns
        .wait_until(CLUSTER_QUEUE, &one, "it is created", has(4))
        .await;
    assert!(made["metadata"]["labels"]["kueue-lab.dev/preset"] == "suite");
    ns.local_queue("lq", &one).await;
    ns.job("first", "lq", 4, 100_000).await;
    ns.wait_until_running("first").await;
    ns.job("second", "lq", 4, 100_000).await;
    ns.wait_until_suspended("second").await;
    // A saved change is applied, and pending Workloads are requeued.
    cluster.work_dir().write(file, &queue(&one, "8"));
    ns.wait_until_running("second").await;
    let before = ns.get(CLUSTER_QUEUE, &one).await;
    // With one error nothing of the file is applied.
    let broken = format!("{}---\n{}", queue(&one, "2"), queue(&two, "-4"));
    cluster.work_dir().write(file, &broken);
    let printed = eventually("the error is logged", || async {
        let log = lab.running.log();
        let line = log
            .lines()
            .find(|l| l.contains("queues.yaml:") && l.contains(&two));
        line.map(str::to_owned).ok_or("it is not".to_owned())
    })
    .await;
    assert!(
        printed.contains("must be greater than or equal to 0"),
        "{printed}"
    );
    let after = ns.get(CLUSTER_QUEUE, &one).await;
    assert_eq!(
        before["metadata"]["generation"],
        after["metadata"]["generation"]
    );
    assert!(ns.api(CLUSTER_QUEUE).get_opt(&two).await.unwrap().is_none());
    // After the correction the rest is applied.
    let good = format!("{}---\n{}", queue(&one, "8"), queue(&two, "4"));
    cluster.work_dir().write(file, &good);
    ns.wait_until(CLUSTER_QUEUE, &two, "it is created", has(4))
        .await;
    // Objects removed from the files are pruned; objects of others are not.
    let spec = json!({"namespaceSelector": {}});
    let object = json!({"metadata": {"name": mine}, "spec": spec});
    ns.create(CLUSTER_QUEUE, object).await;
    for job in ["first", "second"] {
        ns.delete(crate::objects::JOB, job).await;
    }
    std::fs::remove_file(cluster.work_dir().path().join(file)).unwrap();
    for name in [&one, &two] {
        ns.wait_until_deleted(CLUSTER_QUEUE, name).await;
    }
    ns.get(CLUSTER_QUEUE, &mine).await;
}
