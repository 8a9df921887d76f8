//! The watched folder of queues.

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

/// The only story that writes to the folder.
pub async fn a_saved_preset_is_applied_and_an_invalid_one_is_not(scene: SharedContext<'_>) {
    let SharedContext { stage, place, lab } = scene;
    let (one, two, mine) = (
        stage.cluster_scoped_name("one"),
        stage.cluster_scoped_name("two"),
        stage.cluster_scoped_name("mine"),
    );
    for name in [&one, &two] {
        stage.register_for_cleanup(CLUSTER_QUEUE, name);
    }
    let file = "presets/suite/story.yaml";
    place.work_dir().write(file, &queue(&one, "4"));
    let has = |gpus: i64| move |o: &Value| quota(o) == gpus;
    let made = stage
        .wait_until(CLUSTER_QUEUE, &one, "it is made", has(4))
        .await;
    assert!(made["metadata"]["labels"]["kueue-lab.dev/preset"] == "suite");
    stage.local_queue("lq", &one).await;
    stage.job("first", "lq", 4, 100_000).await;
    stage.wait_until_running("first").await;
    stage.job("second", "lq", 4, 100_000).await;
    stage.wait_until_suspended("second").await;
    // What is saved is in force, for those who wait as well.
    place.work_dir().write(file, &queue(&one, "8"));
    stage.wait_until_running("second").await;
    let before = stage.get(CLUSTER_QUEUE, &one).await;
    // One mistake, and nothing of the file is taken.
    let broken = format!("{}---\n{}", queue(&one, "2"), queue(&two, "-4"));
    place.work_dir().write(file, &broken);
    let said = eventually("the mistake is told", || async {
        let log = lab.running.log();
        let line = log
            .lines()
            .find(|l| l.contains("story.yaml:") && l.contains(&two));
        line.map(str::to_owned).ok_or("it is not".to_owned())
    })
    .await;
    assert!(
        said.contains("must be greater than or equal to 0"),
        "{said}"
    );
    let after = stage.get(CLUSTER_QUEUE, &one).await;
    assert_eq!(
        before["metadata"]["generation"],
        after["metadata"]["generation"]
    );
    assert!(
        stage
            .api(CLUSTER_QUEUE)
            .get_opt(&two)
            .await
            .unwrap()
            .is_none()
    );
    // The mistake mended, the rest comes.
    let good = format!("{}---\n{}", queue(&one, "8"), queue(&two, "4"));
    place.work_dir().write(file, &good);
    stage
        .wait_until(CLUSTER_QUEUE, &two, "it is made", has(4))
        .await;
    // What leaves the files leaves the cluster; what somebody else made stays.
    let spec = json!({"namespaceSelector": {}});
    let object = json!({"metadata": {"name": mine}, "spec": spec});
    stage.create(CLUSTER_QUEUE, object).await;
    for job in ["first", "second"] {
        stage.delete(crate::objects::JOB, job).await;
    }
    std::fs::remove_file(place.work_dir().path().join(file)).unwrap();
    for name in [&one, &two] {
        stage.wait_until_deleted(CLUSTER_QUEUE, name).await;
    }
    stage.get(CLUSTER_QUEUE, &mine).await;
}
