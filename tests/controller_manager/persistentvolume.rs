//! Binding of PersistentVolumeClaims.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::cluster_fixture::*;

#[test]
fn persistent_volume_claims_are_bound() {
    with_cluster(|cluster| async move {
        let claim = json!({"metadata": {"name": "c"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}});
        cluster.create_object::<PersistentVolumeClaim>(claim).await;
        let bound = cluster
            .wait_until_object::<PersistentVolumeClaim>("c", "bound", |c| {
                c.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Bound")
            })
            .await;
        let volume = bound.spec.unwrap().volume_name.unwrap();
        let path = format!("/api/v1/persistentvolumes/{volume}");
        let found = cluster.send("GET", &path, Value::Null).await.unwrap();
        assert_eq!(found["status"]["phase"], "Bound");
        assert_eq!(found["spec"]["capacity"]["storage"], "2Gi");
        cluster
            .api::<PersistentVolumeClaim>()
            .delete("c", &DeleteParams::default())
            .await
            .unwrap();
        cluster
            .wait_for("the volume is gone", || async {
                let found = cluster.send("GET", &path, Value::Null).await;
                let going = |v: Value| v["metadata"]["deletionTimestamp"].is_string();
                found.map_or(true, going).then_some(())
            })
            .await;
    });
}
