//! Garbage collection of dependents.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn config_map(name: &str, owner: Option<(&str, &str)>) -> Value {
    let mut map = json!({"metadata": {"name": name}});
    if let Some((owner, uid)) = owner {
        map["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid,
            "blockOwnerDeletion": true,
        }]);
    }
    map
}

async fn owner_and_dependent(cluster: &TestCluster) -> (ConfigMap, ConfigMap) {
    let owner: ConfigMap = cluster.create_object(config_map("owner", None)).await;
    let uid = owner.uid().unwrap();
    let dependent = cluster
        .create_object(config_map("dependent", Some(("owner", &uid))))
        .await;
    (owner, dependent)
}

async fn delete(cluster: &TestCluster, name: &str, policy: PropagationPolicy) {
    let params = DeleteParams {
        propagation_policy: Some(policy),
        ..DeleteParams::default()
    };
    cluster
        .api::<ConfigMap>()
        .delete(name, &params)
        .await
        .unwrap();
}

async fn wait_until_deleted(cluster: &TestCluster, name: &str) {
    let api = cluster.api::<ConfigMap>();
    cluster
        .wait_for(&format!("{name} gone"), || async {
            api.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
}

#[test]
fn dependents_are_deleted_after_their_owner() {
    with_cluster(|cluster| async move {
        owner_and_dependent(&cluster).await;
        delete(&cluster, "owner", PropagationPolicy::Background).await;
        wait_until_deleted(&cluster, "dependent").await;
        // An owner that never existed counts as deleted.
        cluster
            .create_object::<ConfigMap>(config_map("stray", Some(("absent", "1-2-3"))))
            .await;
        wait_until_deleted(&cluster, "stray").await;
    });
}

#[test]
fn foreground_deletion_deletes_the_owner_last() {
    with_cluster(|cluster| async move {
        owner_and_dependent(&cluster).await;
        let path = "/api/v1/namespaces/test/configmaps/dependent";
        cluster
            .patch(path, json!({"metadata": {"finalizers": ["x.io/hold"]}}))
            .await;
        delete(&cluster, "owner", PropagationPolicy::Foreground).await;
        cluster
            .wait_until_object::<ConfigMap>("dependent", "going", |m| {
                m.metadata.deletion_timestamp.is_some()
            })
            .await;
        let owner = cluster.api::<ConfigMap>().get("owner").await.unwrap();
        assert_eq!(owner.finalizers(), ["foregroundDeletion"]);
        cluster
            .patch(path, json!({"metadata": {"finalizers": null}}))
            .await;
        wait_until_deleted(&cluster, "owner").await;
        wait_until_deleted(&cluster, "dependent").await;
    });
}

#[test]
fn orphans_are_kept() {
    with_cluster(|cluster| async move {
        owner_and_dependent(&cluster).await;
        delete(&cluster, "owner", PropagationPolicy::Orphan).await;
        wait_until_deleted(&cluster, "owner").await;
        cluster.clock.sleep(Duration::from_secs(60)).await;
        let dependent = cluster.api::<ConfigMap>().get("dependent").await.unwrap();
        assert!(dependent.owner_references().is_empty());
    });
}

#[test]
fn custom_objects_are_garbage_collected() {
    with_cluster(|cluster| async move {
        let definition = json!({
            "metadata": {"name": "things.x.io"},
            "spec": {
                "group": "x.io", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema":
                    {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        cluster.create(path, definition).await;
        let things = "/apis/x.io/v1/namespaces/test/things";
        let thing = cluster
            .wait_for("a thing", || async {
                let body =
                    json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}});
                cluster.send("POST", things, body).await.ok()
            })
            .await;
        let uid = thing["metadata"]["uid"].as_str().unwrap();
        let mut dependent = config_map("of-thing", Some(("a", uid)));
        dependent["metadata"]["ownerReferences"][0]["apiVersion"] = "x.io/v1".into();
        dependent["metadata"]["ownerReferences"][0]["kind"] = "Thing".into();
        cluster.create_object::<ConfigMap>(dependent).await;
        cluster.clock.sleep(Duration::from_secs(5)).await;
        assert!(cluster.api::<ConfigMap>().get("of-thing").await.is_ok());
        cluster
            .send("DELETE", &format!("{things}/a"), Value::Null)
            .await
            .unwrap();
        wait_until_deleted(&cluster, "of-thing").await;
    });
}
