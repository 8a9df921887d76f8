//! Namespace deletion, and the default objects of namespaces.

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use serde_json::{Value, json};

use super::cluster_fixture::*;

#[test]
fn a_namespace_is_deleted_after_its_content() {
    with_cluster(|cluster| async move {
        cluster
            .wait_until_object::<ServiceAccount>("default", "an account", |_| true)
            .await;
        cluster
            .wait_until_object::<ConfigMap>("kube-root-ca.crt", "a certificate", |_| true)
            .await;
        cluster
            .create_object::<ConfigMap>(json!({"metadata": {"name": "finalized"}}))
            .await;
        let finalized = "/api/v1/namespaces/test/configmaps/finalized";
        cluster
            .patch(
                finalized,
                json!({"metadata": {"finalizers": ["x.io/hold"]}}),
            )
            .await;
        let path = "/api/v1/namespaces/test";
        cluster.send("DELETE", path, Value::Null).await.unwrap();
        let conditions = cluster
            .wait_for("conditions", || async {
                let namespace = cluster.send("GET", path, Value::Null).await.unwrap();
                let conditions = namespace["status"]["conditions"].as_array()?;
                let line = |c: &Value| {
                    format!(
                        "{} {} {}",
                        c["type"].as_str().unwrap(),
                        c["status"].as_str().unwrap(),
                        c["message"].as_str().unwrap()
                    )
                };
                Some(conditions.iter().map(line).collect::<Vec<_>>())
            })
            .await;
        assert_eq!(
            conditions[3..],
            [
                "NamespaceContentRemaining True Some resources are remaining: configmaps. has 1 resource instances",
                "NamespaceFinalizersRemaining True Some content in the namespace has finalizers remaining: x.io/hold in 1 resource instances",
            ]
        );
        cluster
            .patch(finalized, json!({"metadata": {"finalizers": null}}))
            .await;
        cluster
            .wait_for("namespace gone", || async {
                cluster
                    .send("GET", path, Value::Null)
                    .await
                    .err()
                    .map(|_| ())
            })
            .await;
    });
}
