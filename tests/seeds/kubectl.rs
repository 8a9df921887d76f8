//! [`Kubectl`]: the requests of kubectl's commands.

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::client::Body;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Resource};
use serde::Deserialize;
use serde_json::{Value, json};

use super::table::Table;

/// The Deployment and the ConfigMap of Kueue.
pub(crate) const DEPLOYMENT: &str =
    "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager";
pub(crate) const CONFIG_MAP: &str =
    "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config";
const CONFIG_KEY: &str = "controller_manager_config.yaml";

/// The requests of kubectl's commands.
pub(crate) struct Kubectl {
    client: Client,
}

/// The response to a write.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) object: Value,
    /// The texts of its `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl Kubectl {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Vec<u8>,
    ) -> Result<Written, String> {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("content-type", kind)
            .body(Body::from(body))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let object: Value = serde_json::from_slice(&bytes).unwrap();
        if !status.is_success() {
            return Err(format!("{path}: {}", object["message"].as_str().unwrap()));
        }
        let warnings = headers.get_all("warning").iter().map(|value| {
            let value = value.to_str().unwrap();
            value
                .trim_start_matches("299 - ")
                .trim_matches('"')
                .replace("\\\"", "\"")
        });
        Ok(Written {
            object,
            warnings: warnings.collect(),
        })
    }

    /// `kubectl get`; `None` if there is no such object.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        let found = self
            .send(Method::GET, path, "application/json", Vec::new())
            .await;
        found.ok().map(|found| found.object)
    }

    /// The objects of a list.
    pub(crate) async fn list(&self, path: &str) -> Vec<Value> {
        let found = self.get(path).await.unwrap();
        found["items"].as_array().unwrap().clone()
    }

    /// `kubectl get`, or with `wide` `kubectl get -o wide`, as printed.
    pub(crate) async fn table(&self, path: &str, wide: bool) -> Table {
        let request = Request::builder().uri(path);
        let request = request.header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let request = request.body(Body::empty()).unwrap();
        let response = self.client.send(request).await.unwrap();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Table::new(&serde_json::from_slice(&bytes).unwrap(), wide)
    }

    /// `kubectl apply --server-side -f -`: every document of `manifests`.
    pub(crate) async fn apply_server_side(&self, manifests: &str) -> Result<Vec<Written>, String> {
        let mut written = Vec::new();
        for object in documents(manifests) {
            let path = format!("{}?fieldManager=kubectl", self.path(&object).await);
            let body = object.to_string().into_bytes();
            let applied = self.send(Method::PATCH, &path, "application/apply-patch+yaml", body);
            written.push(applied.await?);
        }
        Ok(written)
    }

    /// `kubectl apply -f -`, of objects that do not exist or were not applied before.
    pub(crate) async fn apply(&self, manifests: &str) -> Result<Vec<Written>, String> {
        let mut written = Vec::new();
        for mut object in documents(manifests) {
            let path = self.path(&object).await;
            let applied = object.to_string();
            object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
                applied.into();
            let manager = "fieldManager=kubectl-client-side-apply";
            let body = object.to_string().into_bytes();
            let sent = match self.get(&path).await {
                Some(_) => {
                    let path = format!("{path}?{manager}");
                    self.send(Method::PATCH, &path, "application/merge-patch+json", body)
                        .await
                }
                None => {
                    let (collection, _) = path.rsplit_once('/').unwrap();
                    let path = format!("{collection}?{manager}");
                    self.send(Method::POST, &path, "application/json", body)
                        .await
                }
            };
            written.push(sent?);
        }
        Ok(written)
    }

    /// `kubectl create`
    pub(crate) async fn create(&self, manifest: &str) -> Result<Written, String> {
        let object = documents(manifest).remove(0);
        let path = self.path(&object).await;
        let (collection, _) = path.rsplit_once('/').unwrap();
        let body = object.to_string().into_bytes();
        self.send(Method::POST, collection, "application/json", body)
            .await
    }

    /// Creates an object of a kind that is not stored.
    pub(crate) async fn post(&self, path: &str, object: &Value) -> Result<Written, String> {
        let body = object.to_string().into_bytes();
        self.send(Method::POST, path, "application/json", body)
            .await
    }

    /// `kubectl patch --type merge`
    pub(crate) async fn patch(&self, path: &str, patch: Value) -> Result<Written, String> {
        let body = patch.to_string().into_bytes();
        self.send(Method::PATCH, path, "application/merge-patch+json", body)
            .await
    }

    /// `kubectl -n kueue-system rollout restart deployment kueue-controller-manager`
    pub(crate) async fn rollout_restart(&self, at: &str) {
        let annotations = json!({"kubectl.kubernetes.io/restartedAt": at});
        let template = json!({"metadata": {"annotations": annotations}});
        self.patch(DEPLOYMENT, json!({"spec": {"template": template}}))
            .await
            .unwrap();
    }

    /// The condition of `kubectl rollout status`.
    pub(crate) async fn rollout_is_complete(&self) -> Option<()> {
        let deployment = self.get(DEPLOYMENT).await?;
        let (spec, status) = (&deployment["spec"], &deployment["status"]);
        let observed = status["observedGeneration"] == deployment["metadata"]["generation"];
        let complete = ["replicas", "updatedReplicas", "availableReplicas"]
            .iter()
            .all(|field| status[field] == spec["replicas"]);
        (observed && complete).then_some(())
    }

    /// `kubectl get cm kueue-manager-config -o jsonpath={.data.controller_manager_config\.yaml}`
    pub(crate) async fn kueue_config(&self) -> String {
        let found = self.get(CONFIG_MAP).await.unwrap();
        found["data"][CONFIG_KEY].as_str().unwrap().to_owned()
    }

    /// The ConfigMap of `kubectl create cm kueue-manager-config --from-file … --dry-run=client`.
    pub(crate) fn config_map(text: &str) -> String {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
            "data": {CONFIG_KEY: text},
        });
        object.to_string()
    }

    async fn path(&self, object: &Value) -> String {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let api_version = text("/apiVersion").unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, text("/kind").unwrap());
        let (resource, capabilities): (ApiResource, _) =
            pinned_kind(&self.client, &gvk).await.unwrap();
        let namespace = text("/metadata/namespace").unwrap_or("default");
        let namespace = (capabilities.scope == Scope::Namespaced).then_some(namespace);
        let collection = DynamicObject::url_path(&resource, namespace);
        // Objects with generateName have no name yet.
        let name = text("/metadata/name").unwrap_or_default();
        format!("{collection}/{name}")
    }

    /// `kubectl delete`
    pub(crate) async fn delete(&self, path: &str) {
        self.send(Method::DELETE, path, "application/json", Vec::new())
            .await
            .unwrap();
    }

    /// `kubectl logs`
    pub(crate) async fn logs(&self, namespace: &str, pod: &str) -> String {
        let pods: Api<k8s_openapi::api::core::v1::Pod> =
            Api::namespaced(self.client.clone(), namespace);
        pods.logs(pod, &Default::default()).await.unwrap()
    }
}

/// The YAML documents of a file.
fn documents(manifests: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(manifests);
    let values = documents.map(|document| Value::deserialize(document).unwrap());
    values.filter(|value| !value.is_null()).collect()
}
