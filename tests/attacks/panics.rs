//! A request that panics.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{AdmissionPlugin, AdmissionRequest, AdmissionWarnings};
use serde_json::{Value, json};

use super::connection::{answer, data};
use super::server_fixture::{get, serve_with};

/// Panics at every ConfigMap.
struct Panicking;

#[async_trait]
impl AdmissionPlugin for Panicking {
    fn handles(&self, _: &str, resource: &str, _: &str) -> bool {
        resource == "configmaps"
    }

    async fn mutate(
        &self,
        _: &AdmissionRequest<'_>,
        _: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        panic!("a defect of a plugin")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_the_error_of_its_request_only() {
    let served = serve_with(|builder| builder.admission(Arc::new(Panicking))).await;
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "list"]}]);
    let token = served.account_token("account", rules).await;
    let mut client = served.connect().await;
    let path = "/api/v1/namespaces/test/configmaps";
    let (body, response) = client.request("POST", path, Some(&token));
    body.unbounded_send(data("{\"metadata\": {\"name\": \"m\"}}"))
        .unwrap();
    drop(body);
    let (status, failed) = answer(response).await;
    assert_eq!((status, &failed["reason"]), (500, &json!("InternalError")));
    // The other requests of the connection continue.
    let (_, response) = client.request("GET", path, Some(&token));
    assert_eq!(answer(response).await.0, 200);
    assert!(get(&served.admin, path).await.is_ok());
}
