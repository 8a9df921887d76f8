//! Pod garbage collection.

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::cluster_fixture::*;

#[test]
fn pods_of_a_deleted_node_are_collected() {
    with_cluster(|cluster| async move {
        cluster
            .create("/api/v1/nodes", json!({"metadata": {"name": "n"}}))
            .await;
        let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
        cluster.create_object::<Job>(job).await;
        let pod = cluster.pods("job-name=j", 1).await.remove(0);
        let name = pod.name_any();
        let path = format!("/api/v1/namespaces/test/pods/{name}/binding");
        cluster
            .create(
                &path,
                json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}),
            )
            .await;
        cluster.set_pod_status(&pod, "Running", true).await;
        cluster
            .send("DELETE", "/api/v1/nodes/n", Value::Null)
            .await
            .unwrap();
        cluster
            .wait_for("another pod", || async {
                let pods = cluster.all_pods("job-name=j").await;
                pods.iter().any(|p| p.name_any() != name).then_some(())
            })
            .await;
        cluster
            .wait_until_object::<Job>("j", "a failure", |j| {
                j.status.as_ref().and_then(|s| s.failed) == Some(1)
            })
            .await;
    });
}
