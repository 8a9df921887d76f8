//! [`Subject`]: an object of a kind under test, and its pods.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::cluster_fixture::*;

/// Four nodes of 16 CPUs.
pub(crate) const NODES: &str = "- name: cpu\n  count: 4\n  resources: {cpu: 16, memory: 64Gi}\n";

/// The API of a kind: group, version, kind and plural.
pub(crate) fn api(
    client: &Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: group.into(),
        version: version.into(),
        api_version: match group {
            "" => version.into(),
            group => format!("{group}/{version}"),
        },
        kind: kind.into(),
        plural: plural.into(),
    };
    Api::namespaced_with(client.clone(), "test", &resource)
}

/// A container that runs a script, with requests of 100m.
pub(crate) fn container(script: &str) -> Value {
    json!({
        "name": "main",
        "image": "example.com/train",
        "command": ["sh", "-c", script],
        "resources": {"requests": {"cpu": "100m"}},
    })
}

pub(crate) fn template(script: &str) -> Value {
    json!({"spec": {"restartPolicy": "Never", "containers": [container(script)]}})
}

/// An object of a kind under test.
pub(crate) struct Subject<'a> {
    pub(crate) lab: &'a TestCluster,
    pub(crate) api: Api<DynamicObject>,
    pub(crate) name: String,
}

impl<'a> Subject<'a> {
    /// Creates the object `a`.
    pub(crate) async fn create(
        lab: &'a TestCluster,
        kind: (&str, &str, &str, &str),
        spec: Value,
    ) -> Self {
        Self::create_with(lab, kind, json!({}), spec).await
    }

    /// Creates the object `a` with these fields of its metadata.
    pub(crate) async fn create_with(
        lab: &'a TestCluster,
        kind: (&str, &str, &str, &str),
        mut metadata: Value,
        spec: Value,
    ) -> Self {
        metadata["name"] = json!("a");
        let object = json!({
            "apiVersion": format!("{}/{}", kind.0, kind.1),
            "kind": kind.2,
            "metadata": metadata,
            "spec": spec,
        });
        let api = api(&lab.client, kind);
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        Self {
            lab,
            api,
            name: "a".into(),
        }
    }

    /// Waits until the status satisfies a condition.
    pub(crate) async fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1_500 {
            let object = self.api.get(&self.name).await.unwrap();
            if wanted(&object.data["status"]) {
                return object.data["status"].clone();
            }
            self.lab.clock.sleep(Duration::from_millis(200)).await;
        }
        let object = self.api.get(&self.name).await.unwrap();
        panic!("not {what}: {:#} {:#?}", object.data, self.pods().await);
    }

    pub(crate) async fn patch(&self, spec: Value) {
        let patch = json!({"spec": spec});
        let params = PatchParams::default();
        self.api
            .patch(&self.name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// The names of all pods, sorted, and their phases.
    pub(crate) async fn pods(&self) -> Vec<String> {
        let pods = self.lab.pods.list(&ListParams::default()).await.unwrap();
        let text = |pod: &Pod| format!("{} {}", pod.name_any(), phase_of(pod));
        pods.items.iter().map(text).collect()
    }

    pub(crate) async fn wait_for_pods(&self, count: usize, phase: &str) {
        for _ in 0..1_500 {
            let pods = self.pods().await;
            if pods.len() == count && pods.iter().all(|pod| pod.ends_with(phase)) {
                return;
            }
            self.lab.clock.sleep(Duration::from_millis(200)).await;
        }
        panic!("not {count} pods {phase}: {:#?}", self.pods().await);
    }
}

/// Whether the condition of that type is True.
pub(crate) fn is_true(status: &Value, condition: &str) -> bool {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|c| c["type"] == condition && c["status"] == "True")
}
