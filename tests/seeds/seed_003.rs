//! Seed 003: gang scheduling with RayJob, from an empty pool of GPU nodes to the end of the job.

use std::time::Duration;

use serde_json::Value;

use super::seed_lab::on_a_lab_with_nodes;

const NODES: &str = include_str!("../../lab/nodes-gke.yaml");
const QUEUES: &str = include_str!("../../presets/rayjob-gang/kueue-resources.yaml");
const RAY_JOB: &str =
    include_str!("../../presets/rayjob-gang/samples/pytorch-text-classifier.yaml");
const REQUESTS: &str = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";

/// ACCEPTED, PROVISIONED and FAILED, as `kubectl get provisioningrequest` prints them.
fn columns(request: &Value) -> [String; 3] {
    let conditions = request["status"]["conditions"].as_array();
    ["Accepted", "Provisioned", "Failed"].map(|type_| {
        let mut all = conditions.into_iter().flatten();
        let found = all.find(|c| c["type"] == type_);
        let status = found.and_then(|c| c["status"].as_str());
        status.unwrap_or_default().to_owned()
    })
}

#[test]
fn a_ray_job_waits_for_its_gpu_node() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        let kubectl = &seed.kubectl;
        kubectl.apply(QUEUES).await.unwrap();
        let job = kubectl.create(RAY_JOB).await.unwrap().object;
        let name = job["metadata"]["name"].as_str().unwrap();
        let path = format!("/apis/ray.io/v1/namespaces/default/rayjobs/{name}");
        let deployment_status = async |status: &str| {
            let what = format!("{name} is {status}");
            seed.until(&what, || async {
                let job = kubectl.get(&path).await?;
                (job["status"]["jobDeploymentStatus"] == status).then_some(job)
            })
            .await
        };
        deployment_status("Suspended").await;
        let gpu_nodes = async || {
            let nodes = kubectl.list("/api/v1/nodes").await;
            let pool = |node: &&Value| {
                node["metadata"]["labels"]["cloud.google.com/gke-nodepool"] == "gpu-node-pool"
            };
            nodes.iter().filter(pool).count()
        };
        seed.sleep(20).await;
        let request = kubectl.list(REQUESTS).await.remove(0);
        assert!(
            request["metadata"]["name"]
                .as_str()
                .unwrap()
                .ends_with("-rayjob-gpu-1")
        );
        assert_eq!(columns(&request), ["True", "False", "False"]);
        assert_eq!(gpu_nodes().await, 0);
        let job = deployment_status("Running").await;
        assert_ne!(job["spec"]["suspend"], true);
        let request = kubectl.list(REQUESTS).await.remove(0);
        assert_eq!(columns(&request), ["True", "True", "False"]);
        assert_eq!(gpu_nodes().await, 1);
        let pods = kubectl.list("/api/v1/namespaces/default/pods").await;
        assert_eq!(pods.len(), 3, "head, worker and submitter");
        let job = deployment_status("Complete").await;
        assert_eq!(job["status"]["jobStatus"], "SUCCEEDED");
        // The pool shrinks once the node is unneeded and its capacity is no longer booked.
        seed.sleep(Duration::from_mins(15).as_secs()).await;
        assert_eq!(gpu_nodes().await, 0);
    });
}
