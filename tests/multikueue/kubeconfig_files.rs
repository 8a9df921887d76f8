//! Workers whose kubeconfig is a file: `locationType: Path`.

use kueue_lab_api::config::Feature;
use kueue_lab_lab::KueueConfig;
use serde_json::json;

use crate::fixture::{On, with_config};
use crate::objects::{condition, job};

fn any_path(config: &mut KueueConfig) {
    let gate = Feature::MultiKueueKubeConfigPathValidation;
    config.gates = config.gates.with(gate, false);
}

#[test]
fn a_cluster_follows_the_file_with_its_kubeconfig() {
    with_config(1, any_path, |f| async move {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("east.kubeconfig");
        let only = json!({"spec": {"clusters": ["east"]}});
        f.patch(On::Manager, "MultiKueueConfig", "multikueue", only)
            .await;
        let until_check = async |expected: &str| {
            f.until(On::Manager, "AdmissionCheck", "multikueue", |check| {
                condition(check, "Active").as_deref() == Some(expected)
            })
            .await;
        };
        until_check("False/NoUsableClusters: Missing clusters: [east]").await;
        let cluster = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueCluster",
            "metadata": {"name": "east"},
            "spec": {"clusterSource": {"kubeConfig": {"location": file, "locationType": "Path"}}},
        });
        f.apply(On::Manager, &cluster.to_string()).await;
        let until_cluster = async |expected: &str| {
            f.until(On::Manager, "MultiKueueCluster", "east", |cluster| {
                condition(cluster, "Active").as_deref() == Some(expected)
            })
            .await;
        };
        until_cluster(&format!(
            "False/BadKubeConfig: load client config failed: open {}: no such file or directory",
            file.display()
        ))
        .await;
        until_check("False/NoUsableClusters: Inactive clusters: [east]").await;

        let secrets = f.find(On::Manager, "Secret", "worker1-kubeconfig").await;
        let encoded = secrets.unwrap()["data"]["kubeconfig"].clone();
        let bytes: k8s_openapi::ByteString = serde_json::from_value(encoded).unwrap();
        let valid = String::from_utf8(bytes.0).unwrap();
        let mut insecure: serde_json::Value = serde_yaml::from_str(&valid).unwrap();
        insecure["users"][0]["user"]["tokenFile"] = "/some/path".into();
        std::fs::write(&file, insecure.to_string()).unwrap();
        until_cluster(
            "False/InsecureKubeConfig: load client config failed: tokenFile is not allowed",
        )
        .await;

        std::fs::write(&file, &valid).unwrap();
        until_cluster("True/Active: Connected").await;
        until_check("True/Active: The admission check is active").await;
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == "east"
        })
        .await;
        f.until(On::Worker(1), "Job", "a", |_| true).await;
        f
    });
}
