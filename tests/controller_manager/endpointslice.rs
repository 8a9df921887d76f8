//! EndpointSlices.

use k8s_openapi::api::core::v1::{Endpoints, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use super::cluster_fixture::*;

fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

async fn slice(
    cluster: &TestCluster,
    what: &str,
    is: impl Fn(&EndpointSlice) -> bool,
) -> EndpointSlice {
    cluster
        .wait_for(what, || async {
            let list = cluster
                .api::<EndpointSlice>()
                .list(&ListParams::default())
                .await
                .unwrap();
            list.items.into_iter().find(|s| is(s))
        })
        .await
}

#[test]
fn endpoint_slices_are_reconciled_with_pods() {
    with_cluster(|cluster| async move {
        let service = json!({"metadata": {"name": "s"}, "spec": {
            "selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}});
        cluster.create_object::<Service>(service).await;
        let empty = slice(&cluster, "an empty slice", |_| true).await;
        assert!(endpoints(&empty).is_empty() && empty.name_any().starts_with("s-"));
        assert_eq!(empty.labels()["kubernetes.io/service-name"], "s");
        cluster.create_object::<Pod>(pod("p", "1")).await;
        let path = "/api/v1/namespaces/test/pods/p/status";
        cluster
            .patch(
                path,
                json!({"status": {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}}),
            )
            .await;
        let unready = slice(&cluster, "an endpoint", |s| endpoints(s).len() == 1).await;
        assert_eq!(
            endpoints(&unready)[0].conditions.as_ref().unwrap().ready,
            Some(false)
        );
        assert_eq!(unready.ports.as_ref().unwrap()[0].port, Some(8080));
        let found = cluster.api::<Pod>().get("p").await.unwrap();
        cluster.set_pod_status(&found, "Running", true).await;
        slice(&cluster, "a ready endpoint", |s| {
            endpoints(s)
                .first()
                .is_some_and(|e| e.conditions.as_ref().unwrap().ready == Some(true))
        })
        .await;
        cluster
            .wait_until_object::<Endpoints>("s", "an address", |e| {
                let subsets = e.subsets.as_deref().unwrap_or_default();
                subsets
                    .first()
                    .is_some_and(|s| s.addresses.as_ref().is_some_and(|a| a.len() == 1))
            })
            .await;
        cluster
            .api::<Pod>()
            .delete("p", &DeleteParams::default())
            .await
            .unwrap();
        slice(&cluster, "no endpoint", |s| endpoints(s).is_empty()).await;
    });
}
