//! An API server under test, and functions to use it.

use std::future::Future;

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use kube::{Client, Config, Error};
use kueue_lab_apiserver::{ApiServer, ApiServerBuilder, ServeOptions, ServingHandle};
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

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

/// A server on the network with the namespace `test`.
pub(crate) struct Served {
    /// An in-process client.
    pub(crate) admin: Client,
    pub(crate) handle: ServingHandle,
    _server: ApiServer,
}

/// Starts a server on the network.
pub(crate) async fn serve() -> Served {
    serve_with(|builder| builder).await
}

/// Starts a server on the network with other settings.
pub(crate) async fn serve_with(
    configure: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
) -> Served {
    let builder = ApiServer::builder(Clock::real(), Entropy::seeded(1));
    let server = configure(builder).build();
    let handle = server.serve(ServeOptions::default()).await.unwrap();
    let admin = server.client();
    namespace(&admin, "test").await;
    Served {
        admin,
        handle,
        _server: server,
    }
}

impl Served {
    /// The client configuration of the kubeconfig, or of a token.
    pub(crate) async fn config(&self, token: Option<&str>) -> Config {
        let kubeconfig = Kubeconfig::from_yaml(self.handle.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .unwrap();
        if let Some(token) = token {
            config.auth_info.token = Some(token.to_owned().into());
        }
        config
    }

    /// Creates a ClusterRole and binds it to a subject.
    pub(crate) async fn grant(&self, name: &str, rules: Value, subject: Value) {
        let role = json!({"metadata": {"name": name}, "rules": rules});
        let path = format!("{RBAC}/clusterroles");
        send(&self.admin, "POST", &path, role).await.unwrap();
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        });
        let path = format!("{RBAC}/clusterrolebindings");
        send(&self.admin, "POST", &path, binding).await.unwrap();
    }
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

/// Creates a ConfigMap with one entry.
pub(crate) async fn create_config_map(api: &Api<ConfigMap>, name: &str, value: &str) -> ConfigMap {
    api.create(&PostParams::default(), &config_map(name, value))
        .await
        .unwrap()
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
