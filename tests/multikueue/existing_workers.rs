//! Workers that `clusters.yaml` names by their kubeconfig: clusters that exist without the lab.

use std::path::Path;

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{ClusterRole, Lab, LabConfig};
use serde_json::json;

use crate::network::until;
use crate::worker_processes::{
    MULTIKUEUE_CHECK, Process, QUEUES, create_job, free_port, until_dispatched,
};

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_run_in_a_cluster_of_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write(
        &dir.join("worker/queues.yaml"),
        &QUEUES.replace("  CHECKS\n", ""),
    );
    write(
        &dir.join("presets/remote/queues.yaml"),
        &QUEUES.replace("CHECKS", MULTIKUEUE_CHECK),
    );
    let configuration = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job]}\n";
    write(&dir.join("presets/remote/kueue.yaml"), configuration);
    let clusters = dir.join("presets/remote/clusters.yaml");
    write(
        &clusters,
        "clusters:\n- {name: east, kubeconfig: ../../east.kubeconfig}\n",
    );
    let _east = Process::start(dir, "east", "worker", free_port());
    let mut config = LabConfig::embedded(Clock::real(), Entropy::seeded(1), &dir.join("presets"));
    config.presets.active = Some("remote".to_owned());
    config.presets.watch = true;
    config.cluster.role = ClusterRole::Single;

    let lab = Lab::start(config).await.unwrap();
    create_job(&lab.client(), "600").await;
    let cluster = until_dispatched(&lab.client(), |_| true).await;
    assert_eq!(cluster, "east");

    let state = || json!(format!("{:?}", lab.presets().state())).to_string();
    let shown = async |text: &str| {
        until(async || state().contains(text).then_some(())).await;
    };
    // A cluster that does not answer is named with its line; the others stay connected.
    let closed = std::fs::read_to_string(dir.join("east.kubeconfig")).unwrap();
    let server = closed
        .lines()
        .find(|line| line.contains("server:"))
        .unwrap();
    let unused = format!("    server: https://127.0.0.1:{}", free_port());
    write(
        &dir.join("west.kubeconfig"),
        &closed.replace(server, &unused),
    );
    write(
        &clusters,
        "clusters:\n- {name: east, kubeconfig: ../../east.kubeconfig}\n- {name: west, kubeconfig: ../../west.kubeconfig}\n",
    );
    shown("clusters.yaml:3:10: worker cluster west at https://127.0.0.1:").await;
    shown("start the cluster, or correct kubeconfig and context of this entry").await;
    shown("worker clusters: 2, 1 before").await;

    // A context that does not exist is an error, and nothing changes.
    write(
        &clusters,
        "clusters:\n- {name: east, kubeconfig: ../../east.kubeconfig, context: gone}\n",
    );
    shown("there is no context \\\\\\\"gone\\\\\\\"").await;
    shown("LastGood").await;
    lab.stop().await;
}
