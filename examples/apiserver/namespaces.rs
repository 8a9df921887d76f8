//! The least a bare API server needs for people to work in its namespaces: a default service account
//! and the root certificate in each, and the emptying of those on their way out. A lab has its own
//! controllers for this.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, PostParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Client, ResourceExt};

/// Looks at all namespaces again and again.
pub async fn run(client: Client, authority: String) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    loop {
        if let Ok(list) = namespaces.list(&ListParams::default()).await {
            for namespace in list {
                let name = namespace.name_any();
                if namespace.metadata.deletion_timestamp.is_none() {
                    let _ = furnish(&client, &name, &authority).await;
                } else {
                    let _ = empty(&client, &name).await;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn furnish(client: &Client, namespace: &str, authority: &str) -> kube::Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let meta = |name: &str| ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    };
    if accounts.get_opt("default").await?.is_none() {
        let account = ServiceAccount {
            metadata: meta("default"),
            ..ServiceAccount::default()
        };
        accounts.create(&PostParams::default(), &account).await?;
    }
    if maps.get_opt("kube-root-ca.crt").await?.is_none() {
        let text = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
        let mut metadata = meta("kube-root-ca.crt");
        metadata.annotations = Some([("kubernetes.io/description".into(), text.into())].into());
        let map = ConfigMap {
            metadata,
            data: Some(BTreeMap::from([("ca.crt".into(), authority.into())])),
            ..ConfigMap::default()
        };
        maps.create(&PostParams::default(), &map).await?;
    }
    Ok(())
}

/// Deletes what is in a namespace and lets it go once nothing is left.
async fn empty(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let mut left = 0;
    for group in Discovery::new(client.clone()).run().await?.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            let deletable = capabilities.supports_operation(verbs::DELETE_COLLECTION);
            if capabilities.scope != Scope::Namespaced || !deletable {
                continue;
            }
            let api: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), namespace, &resource);
            let params = DeleteParams::default().grace_period(0);
            api.delete_collection(&params, &ListParams::default())
                .await?;
            left += api.list(&ListParams::default()).await?.items.len();
        }
    }
    if left == 0 {
        let body = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": namespace}, "spec": {"finalizers": []},
        });
        let request = http::Request::put(format!("/api/v1/namespaces/{namespace}/finalize"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&body)?)?;
        client.request::<serde_json::Value>(request).await?;
        let all: Api<Namespace> = Api::all(client.clone());
        let _ = all.delete(namespace, &DeleteParams::default()).await;
    }
    Ok(())
}
