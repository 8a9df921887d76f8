//! An API server under test, and functions to use it.

use std::future::Future;

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::core::Status;
use kube::{Client, Error};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_entropy::Entropy;
use serde_json::{Value, json};

/// A server in virtual time with the same names and UIDs in every run.
pub(crate) fn server() -> ApiServer {
    let start = "2026-03-02T12:00:00Z".parse().unwrap();
    ApiServer::builder(Clock::starting_at(start), Entropy::seeded(1)).build()
}

/// Runs a test in virtual time on a server with the namespace `test`.
pub(crate) fn with_server<F: Future<Output = ()>>(test: impl FnOnce(ApiServer, Client) -> F) {
    virtual_runtime().unwrap().block_on(async {
        let server = server();
        let client = server.client();
        namespace(&client, "test").await;
        test(server, client).await;
    });
}

/// Creates a namespace with its default ServiceAccount.
pub(crate) async fn namespace(client: &Client, name: &str) {
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let account = json!({"metadata": {"name": "default"}});
    let path = format!("/api/v1/namespaces/{name}/serviceaccounts");
    send(client, "POST", &path, account).await.unwrap();
}

pub(crate) fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "test")
}

/// A ConfigMap with one entry.
pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        data: Some([("k".to_string(), value.to_string())].into()),
        ..ConfigMap::default()
    }
}

/// A Pod that is not scheduled.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

/// Sends and receives JSON.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    body: Value,
) -> Result<Value, Error> {
    send_as(client, method, path, "application/json", body).await
}

/// Sends a body of this media type and receives JSON.
pub(crate) async fn send_as(
    client: &Client,
    method: &str,
    path: &str,
    media_type: &str,
    body: Value,
) -> Result<Value, Error> {
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type)
        .body(body)
        .unwrap();
    client.request(request).await
}

/// Receives JSON.
pub(crate) async fn get(client: &Client, path: &str) -> Result<Value, Error> {
    send(client, "GET", path, Value::Null).await
}

/// Applies a JSON merge patch.
pub(crate) async fn merge_patch(client: &Client, path: &str, patch: Value) -> Result<Value, Error> {
    send_as(client, "PATCH", path, "application/merge-patch+json", patch).await
}

/// The Status of an error.
pub(crate) fn error_status<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Status {
    match outcome {
        Err(Error::Api(status)) => *status,
        other => panic!("expected an error, got {other:?}"),
    }
}
