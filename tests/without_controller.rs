//! An embedded cluster without the admission controller, for another Kueue.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_lab::{Lab, LabConfig};
use kueue_lab_nodes::NodePools;
use serde_json::json;
use tokio_util::sync::CancellationToken;

const NODES: &str = "pools:\n- name: cpu\n  count: 1\n  resources: {cpu: 4, memory: 8Gi}\n";
const QUEUE: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
";

fn config(presets: &std::path::Path, preset: Option<&str>) -> LabConfig {
    std::fs::create_dir(presets.join("one")).unwrap();
    std::fs::write(presets.join("one/a.yaml"), QUEUE).unwrap();
    let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
    let mut config = LabConfig::embedded(clock, Entropy::seeded(1), presets);
    config.presets.active = preset.map(str::to_owned);
    config.components.nodes = NodePools::parse(NODES).unwrap();
    config.components.operators = false;
    config.components.controller = false;
    config
}

async fn start(presets: &std::path::Path, preset: Option<&str>) -> Lab {
    Lab::start(config(presets, preset)).await.unwrap()
}

/// Whether the Job completes within a minute of lab time.
async fn completes(client: &Client, clock: &Clock, name: &str) -> bool {
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    for _ in 0..60 {
        let job = jobs.get(name).await.unwrap();
        if job.status.and_then(|s| s.completion_time).is_some() {
            return true;
        }
        clock.sleep(Duration::from_secs(1)).await;
    }
    false
}

#[test]
fn pods_can_be_created_before_the_controllers_start() {
    virtual_runtime().unwrap().block_on(async {
        let presets = tempfile::tempdir().unwrap();
        let config = config(presets.path(), Some("one"));
        let never = CancellationToken::new();
        let lab = Lab::start_without_controllers(config, &never).await;
        let lab = lab.unwrap();
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "busybox"}]},
        });
        let pods: Api<Pod> = Api::default_namespaced(lab.client());
        let pod = serde_json::from_value(pod).unwrap();
        pods.create(&PostParams::default(), &pod).await.unwrap();
        lab.stop().await;
    });
}

#[test]
fn jobs_run_without_webhooks_and_presets_are_applied() {
    virtual_runtime().unwrap().block_on(async {
        let presets = tempfile::tempdir().unwrap();
        let lab = start(presets.path(), Some("one")).await;
        let client = lab.client();
        assert!(lab.controller().is_none());
        let jobs: Api<Job> = Api::default_namespaced(client.clone());
        let job = |name: &str, suspend: bool| -> Job {
            let job = json!({
                "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "any"}},
                "spec": {"suspend": suspend, "template": {"spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "busybox", "command": ["sleep", "1"]}],
                }}},
            });
            serde_json::from_value(job).unwrap()
        };
        for (name, suspend) in [("runs", false), ("stays", true)] {
            let params = PostParams::default();
            jobs.create(&params, &job(name, suspend)).await.unwrap();
        }
        assert!(completes(&client, lab.clock(), "runs").await);
        assert!(!completes(&client, lab.clock(), "stays").await);
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), "kueue-system");
        let manager = deployments.get_opt("kueue-controller-manager").await;
        assert_eq!(manager.unwrap(), None);
        let leases: Api<Lease> = Api::namespaced(client.clone(), "kueue-system");
        let held = leases.list(&ListParams::default()).await.unwrap();
        assert_eq!(held.items, []);
        let flavors = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/any";
        let request = http::Request::get(flavors).body(Vec::new()).unwrap();
        client.request::<serde_json::Value>(request).await.unwrap();
        lab.stop().await;
    });
}

#[test]
fn without_a_preset_an_installation_of_kueue_creates_its_definitions() {
    virtual_runtime().unwrap().block_on(async {
        let presets = tempfile::tempdir().unwrap();
        let lab = start(presets.path(), None).await;
        let definitions: Api<CustomResourceDefinition> = Api::all(lab.client());
        let served = definitions.list(&ListParams::default()).await.unwrap();
        let of_kueue = served
            .iter()
            .filter(|crd| crd.spec.group == "kueue.x-k8s.io");
        assert_eq!(of_kueue.count(), 0);
        lab.stop().await;
    });
}
