//! RayJobs and the RayClusters that KubeRay creates for them.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::v1beta2::Workload;
use serde_json::{Value, json};

use crate::cluster_fixture::{QUEUES, TestCluster, with_cluster};

fn definition(kind: &str) -> String {
    let singular = kind.to_lowercase();
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {singular}s.ray.io}}
spec:
  group: ray.io
  scope: Namespaced
  names: {{plural: {singular}s, singular: {singular}, kind: {kind}, listKind: {kind}List}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema:
      openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}"
    )
}

fn api(cluster: &TestCluster, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("ray.io", "v1", kind));
    Api::namespaced_with(cluster.client.clone(), "ns", &resource)
}

fn cluster_spec(workers: u32) -> Value {
    let template = json!({"spec": {"containers": [
        {"name": "c", "image": "ray", "resources": {"requests": {"cpu": "1"}}}]}});
    let resources = json!({"requests": {"cpu": "500m"}});
    json!({"enableInTreeAutoscaling": true, "autoscalerOptions": {"resources": resources},
        "headGroupSpec": {"template": template},
        "workerGroupSpecs": [{"groupName": "g", "replicas": workers, "template": template}]})
}

async fn create(cluster: &TestCluster, kind: &str, metadata: Value, spec: Value) -> DynamicObject {
    let object =
        json!({"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": spec});
    let object = serde_json::from_value(object).unwrap();
    api(cluster, kind)
        .create(&PostParams::default(), &object)
        .await
        .unwrap()
}

/// Waits until the unfinished Workload is admitted with these counts.
async fn admitted_with(cluster: &TestCluster, counts: &[i32]) -> Workload {
    let mut seen = Vec::new();
    for _ in 0..2000 {
        seen = cluster
            .workloads()
            .list(&Default::default())
            .await
            .unwrap()
            .items;
        seen.retain(|wl| !wl.is_condition_true("Finished") && wl.is_condition_true("Admitted"));
        let is_wanted = |wl: &Workload| wl.spec.pod_sets.iter().map(|ps| &ps.count).eq(counts);
        if let [one] = seen.as_slice()
            && is_wanted(one)
        {
            return one.clone();
        }
        let step = std::time::Duration::from_millis(50);
        cluster.clock.sleep(step).await;
    }
    panic!("no Workload is admitted with {counts:?}: {seen:#?}");
}

#[test]
fn an_elastic_ray_job_follows_the_scale_of_its_cluster() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        cluster.apply(&definition("RayJob")).await;
        cluster.apply(&definition("RayCluster")).await;
        cluster.sleep(5).await;
        let metadata = json!({"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "lq"},
            "annotations": {"kueue.x-k8s.io/elastic-job": "true"}});
        let spec = json!({"shutdownAfterJobFinishes": true, "submissionMode": "HTTPMode",
            "rayClusterSpec": cluster_spec(1)});
        let job = create(&cluster, "RayJob", metadata, spec).await;
        assert_eq!(job.data["spec"]["suspend"], true);
        let first = admitted_with(&cluster, &[1, 1]).await;

        let owner = json!([{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "j",
            "uid": job.metadata.uid, "controller": true}]);
        let metadata = json!({"name": "c", "ownerReferences": owner});
        create(&cluster, "RayCluster", metadata, cluster_spec(1)).await;
        let status = json!({"status": {"rayClusterName": "c", "jobDeploymentStatus": "Running"}});
        let params = PatchParams::default();
        let jobs = api(&cluster, "RayJob");
        jobs.patch_status("j", &params, &Patch::Merge(&status))
            .await
            .unwrap();
        let scaled = json!({"spec": cluster_spec(3)});
        api(&cluster, "RayCluster")
            .patch("c", &params, &Patch::Merge(&scaled))
            .await
            .unwrap();
        let second = admitted_with(&cluster, &[1, 3]).await;
        assert_ne!(first.metadata.name, second.metadata.name);
        let job = jobs.get("j").await.unwrap();
        let annotations = job.metadata.annotations.unwrap();
        assert_eq!(annotations["kueue.x-k8s.io/raycluster-generation"], "2");
        assert!(job.data["spec"].get("suspend").is_none());
    });
}
