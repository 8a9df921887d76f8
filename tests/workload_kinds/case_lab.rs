//! [`CaseLab`]: a lab in virtual time on which a case is replayed, and requests to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use http::Request;
use kube::client::Body;
use kueue_lab_api::config;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{Lab, LabConfig, NodePools};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::crds;

const PRESET: &str = "apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: wk-pod-priority}
value: 500
";

const NODES: &str = "- {name: batch, count: 2, labels: {example.com/pool: batch}, resources: \
    {cpu: 100, memory: 400Gi, pods: 200, nvidia.com/gpu: 64, ephemeral-storage: 100Gi}}\n";

/// Objects that all cases share.
const SHARED_OBJECTS: &str = "
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: wk-low}, value: 100}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: wk-high}, value: 1000}
";

/// Time after the CustomResourceDefinitions were created until their integrations have started.
const INTEGRATIONS_START: f64 = 5.0;

/// The lab of a case.
pub(crate) struct CaseLab {
    lab: Lab,
    pub clock: Clock,
    /// The resource of a kind, and whether it is namespaced, by API version and kind.
    resources: Mutex<BTreeMap<(String, String), (String, bool)>>,
}

/// The response to a request.
pub(crate) struct Response {
    pub code: u16,
    pub body: Value,
    pub warnings: Vec<String>,
}

impl Response {
    pub(crate) fn is_success(&self) -> bool {
        self.code < 300
    }

    /// The message of a Status.
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// An object or a list of objects: its API version, kind and namespace.
#[derive(Clone, Copy)]
pub(crate) struct Collection<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub namespace: &'a str,
}

impl CaseLab {
    /// Starts a lab with the CustomResourceDefinitions of the API groups.
    ///
    /// # Errors
    /// An object is refused.
    pub(crate) async fn start(
        recordings: &Path,
        groups: &BTreeSet<String>,
    ) -> Result<Self, String> {
        let presets = tempfile::tempdir().unwrap();
        std::fs::create_dir(presets.path().join("empty")).unwrap();
        std::fs::write(presets.path().join("empty/a.yaml"), PRESET).unwrap();
        let configuration = std::fs::read_to_string(recordings.join("kueue-config.yaml")).unwrap();
        let clock = Clock::starting_at("2026-08-23T12:00:00Z".parse().unwrap());
        let mut config = LabConfig::embedded(clock.clone(), Entropy::seeded(1), presets.path());
        config.presets.active = Some("empty".into());
        config.components.nodes = NodePools::parse(NODES).unwrap();
        config.components.operators = false;
        config.components.kueue = Some(config::load(&configuration).unwrap());
        let lab = Lab::start(config).await.unwrap();
        let lab = Self {
            lab,
            clock,
            resources: Mutex::default(),
        };
        match lab.create_shared_objects(recordings, groups).await {
            Ok(()) => Ok(lab),
            Err(error) => {
                lab.stop().await;
                Err(error)
            }
        }
    }

    async fn create_shared_objects(
        &self,
        recordings: &Path,
        groups: &BTreeSet<String>,
    ) -> Result<(), String> {
        for object in crds::objects_of_groups(recordings, groups) {
            self.create(object, "").await?;
        }
        self.sleep(INTEGRATIONS_START).await;
        let shared: Vec<Value> = serde_yaml::from_str(SHARED_OBJECTS).unwrap();
        for object in &shared {
            self.create(object, "").await?;
        }
        Ok(())
    }

    /// Stops the lab.
    pub(crate) async fn stop(self) {
        self.lab.stop().await;
    }

    pub(crate) async fn sleep(&self, seconds: f64) {
        self.clock.sleep(Duration::from_secs_f64(seconds)).await;
    }

    /// Sends a request.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Response {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("accept", "application/json")
            .body(Body::from(body.into_bytes()))
            .unwrap();
        let response = self.lab.client().send(request).await.unwrap();
        let (code, headers) = (response.status().as_u16(), response.headers());
        let warnings = headers.get_all("warning").iter();
        let warnings = warnings
            .filter_map(|warning| warning.to_str().ok()?.split('"').nth(1).map(str::to_owned))
            .collect();
        let body = response.into_body().collect_bytes().await.unwrap();
        let text = || json!({"message": String::from_utf8_lossy(&body)});
        Response {
            code,
            body: serde_json::from_slice(&body).unwrap_or_else(|_| text()),
            warnings,
        }
    }

    /// The resource of a kind, and whether it is namespaced.
    ///
    /// # Errors
    /// The API server has no such kind.
    pub(crate) async fn resource(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<(String, bool), String> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.resources.lock().get(&key) {
            return Ok(known.clone());
        }
        let found = self
            .request("GET", &root(api_version), "application/json", None)
            .await;
        let all = found.body["resources"].as_array().into_iter().flatten();
        let mut own = all.filter(|resource| {
            let name = resource["name"].as_str().unwrap_or_default();
            resource["kind"] == kind && !name.contains('/')
        });
        let resource = own
            .next()
            .ok_or_else(|| format!("no kind {kind} in {api_version}"))?;
        let name = resource["name"].as_str().unwrap_or_default().to_owned();
        let found = (name, resource["namespaced"] == true);
        self.resources.lock().insert(key, found.clone());
        Ok(found)
    }

    /// The path of a list, or of a named object and its subresource.
    ///
    /// # Errors
    /// The API server has no such kind.
    pub(crate) async fn path(
        &self,
        collection: Collection<'_>,
        name: &str,
        subresource: &str,
    ) -> Result<String, String> {
        let Collection {
            api_version,
            kind,
            namespace,
        } = collection;
        let (resource, namespaced) = self.resource(api_version, kind).await?;
        let mut path = root(api_version);
        if namespaced {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        for part in [resource.as_str(), name, subresource] {
            if !part.is_empty() {
                path.push('/');
                path.push_str(part);
            }
        }
        Ok(path)
    }

    /// Creates an object, by default in `namespace`.
    ///
    /// # Errors
    /// The object is refused.
    pub(crate) async fn create(&self, object: &Value, namespace: &str) -> Result<(), String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let own = object["metadata"]["namespace"].as_str();
        let collection = Collection {
            api_version: &api_version,
            kind: &kind,
            namespace: own.unwrap_or(namespace),
        };
        let path = self.path(collection, "", "").await?;
        let response = self
            .request("POST", &path, "application/json", Some(object))
            .await;
        match response.is_success() {
            true => Ok(()),
            false => Err(format!("{kind}: {}", response.message())),
        }
    }
}

fn root(api_version: &str) -> String {
    match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    }
}
