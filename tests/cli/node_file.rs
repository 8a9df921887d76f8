//! The file of `--nodes`.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::DeleteParams;

use crate::work_dir::{RunningLab, WorkDir};

const NODES: &str = "- name: gpu\n  count: 2\n  resources: {cpu: 4, memory: 8Gi}\n";
const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_node_is_created_again_when_the_file_is_saved() {
    let dir = WorkDir::new();
    dir.write("nodes.yaml", NODES);
    let args = [
        "up",
        "--headless",
        "--preset",
        "none",
        "--nodes",
        "nodes.yaml",
    ];
    let lab = RunningLab::start(dir.command(&args));
    let nodes: Api<Node> = Api::all(lab.client().await);
    let kept = nodes.get("gpu-1").await.unwrap().metadata.uid;
    let deleted = nodes.get("gpu-0").await.unwrap().metadata.uid;
    nodes
        .delete("gpu-0", &DeleteParams::default())
        .await
        .unwrap();
    let started = Instant::now();
    loop {
        // The lab may not have observed the deletion at the first save.
        dir.write("nodes.yaml", NODES);
        let node = nodes.get_opt("gpu-0").await.unwrap();
        if node.is_some_and(|node| node.metadata.uid != deleted) {
            break;
        }
        assert!(started.elapsed() < TIMEOUT, "gpu-0 is not created again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(nodes.get("gpu-1").await.unwrap().metadata.uid, kept);
}
