//! The commands `install`, `controller` and `uninstall`, over the network.

use std::process::Stdio;
use std::time::Duration;

use kueue_lab_apiserver::ServeOptions;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::cluster_fixture::{TestCluster, wait_for};

fn lab() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kueue-lab"));
    command
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_installs_admits_and_uninstalls() {
    let cluster = TestCluster::start().await;
    let serving = cluster.server.serve(ServeOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    serving.write_kubeconfig(&kubeconfig).unwrap();
    let mut controller = lab()
        .args(["controller", "--health", "127.0.0.1:0", "--kubeconfig"])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(controller.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(Duration::from_secs(180), lines.next_line()).await;
    assert_eq!(line.unwrap().unwrap().as_deref(), Some("leading"));
    cluster.create_queues(8).await;
    assert_eq!(cluster.job("first", 8).await["spec"]["suspend"], true);
    wait_for("the first runs", || async {
        let job = cluster.jobs().get("first").await.unwrap();
        (job.spec.unwrap().suspend == Some(false)).then_some(())
    })
    .await;
    cluster.job("second", 8).await;
    let pid = controller.id().unwrap().to_string();
    let killed = Command::new("kill")
        .args(["-TERM", &pid])
        .status()
        .await
        .unwrap();
    assert!(killed.success());
    let ended = tokio::time::timeout(Duration::from_secs(180), controller.wait()).await;
    assert!(ended.unwrap().unwrap().success());
    let uninstall = lab()
        .args(["uninstall", "--yes", "--kubeconfig"])
        .arg(&kubeconfig)
        .output()
        .await
        .unwrap();
    let printed = String::from_utf8(uninstall.stdout).unwrap();
    assert!(uninstall.status.success(), "{printed}");
    for line in [
        "can run: Job team/second",
        "removed: kind workloads.kueue.x-k8s.io",
    ] {
        assert!(printed.lines().any(|l| l == line), "{printed}");
    }
    let crd = "workloads.kueue.x-k8s.io";
    let crd = cluster
        .get(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "",
            crd,
        )
        .await;
    assert_eq!(crd, None);
    let namespace = cluster.get("v1", "Namespace", "", "kueue-lab-system").await;
    let going = namespace.is_none_or(|ns| ns["metadata"]["deletionTimestamp"] != json!(null));
    assert!(going);
    serving.shutdown().await;
}

#[tokio::test]
async fn uninstall_requires_a_context() {
    let asked = lab().args(["uninstall", "--yes"]).output().await.unwrap();
    assert_eq!(asked.status.code(), Some(2));
    let printed = String::from_utf8(asked.stderr).unwrap();
    assert!(
        printed.contains("name the cluster: --context NAME"),
        "{printed}"
    );
}
