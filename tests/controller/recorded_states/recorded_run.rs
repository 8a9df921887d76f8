//! [`RecordedRun`]: a lab in virtual time on which a reference run is repeated.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_lab::{Lab, LabConfig, NodePools};
use kueue_lab_nodes::NodePool;
use kueue_lab_testing::recordings;
use serde::Serialize;
use serde_json::{Value, json};

use super::state_lines::{Normalizer, StateLines};

pub(super) struct RecordedRun {
    pub client: Client,
    pub clock: Clock,
    recording: PathBuf,
    namespace: String,
}

fn nodes() -> NodePools {
    let amounts = [
        ("cpu", "32"),
        ("memory", "64Gi"),
        ("nvidia.com/gpu", "8"),
        ("pods", "110"),
    ];
    let pool = NodePool {
        name: "fake".into(),
        names: Vec::new(),
        count: 2,
        resources: amounts
            .iter()
            .map(|(name, q)| ((*name).to_owned(), q.parse().unwrap()))
            .collect(),
        labels: Default::default(),
        taints: Vec::new(),
        zones: Vec::new(),
        topology: Vec::new(),
        provider_id: None,
        address: None,
        images: Vec::new(),
        devices: Vec::new(),
        autoscale: None,
    };
    NodePools {
        pools: vec![pool],
        ..NodePools::default()
    }
}

/// Repeats a reference run in its namespace with the queues in the file `queues` of the recording.
pub(super) fn replay<F: Future<Output = ()>>(
    run: &str,
    namespace: &str,
    queues: &str,
    act: impl FnOnce(RecordedRun) -> F,
) {
    let recordings = recordings("reference-runs");
    let common = std::fs::read_to_string(recordings.join("common.yaml")).unwrap();
    virtual_runtime().unwrap().block_on(async {
        let presets = tempfile::tempdir().unwrap();
        std::fs::create_dir(presets.path().join("recorded")).unwrap();
        std::fs::write(presets.path().join("recorded/common.yaml"), common).unwrap();
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let mut config = LabConfig::embedded(clock.clone(), Entropy::seeded(7), presets.path());
        config.presets.active = Some("recorded".into());
        config.components.nodes = nodes();
        config.components.operators = false;

        let lab = Lab::start(config).await.unwrap();
        let run = RecordedRun {
            client: lab.client(),
            clock,
            recording: recordings.join(run),
            namespace: namespace.into(),
        };
        run.create_queues(queues).await;
        act(run).await;
        lab.stop().await;
    });
}

fn documents(text: &str) -> Vec<Value> {
    text.split("\n---")
        .filter_map(|document| {
            serde_yaml::from_str::<Value>(document.trim_start_matches("---")).ok()
        })
        .flat_map(|document| match document["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![document],
        })
        .filter(|object| object["kind"].is_string())
        .collect()
}

fn resource(object: &Value) -> ApiResource {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(
        group,
        version,
        object["kind"].as_str().unwrap(),
    ))
}

impl RecordedRun {
    async fn create_queues(&self, queues: &str) {
        let namespace = Namespace {
            metadata: kube::api::ObjectMeta {
                name: Some(self.namespace.clone()),
                ..Default::default()
            },
            ..Default::default()
        };
        Api::all(self.client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        self.sleep(1.0).await;
        let read = |name: String| std::fs::read_to_string(self.recording.join(name)).unwrap();
        let mut recorded = documents(&read(format!("{queues}.cluster.yaml")));
        recorded.extend(documents(&read(format!("{queues}.yaml"))));
        for object in recorded {
            let kinds = [
                "ClusterQueue",
                "LocalQueue",
                "AdmissionCheck",
                "ProvisioningRequestConfig",
            ];
            let other = object["metadata"]["namespace"]
                .as_str()
                .is_some_and(|ns| ns != self.namespace);
            if other || !kinds.contains(&object["kind"].as_str().unwrap()) {
                continue;
            }
            let meta = json!({
                "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
            });
            let fresh = json!({
                "apiVersion": object["apiVersion"], "kind": object["kind"],
                "metadata": meta, "spec": object["spec"],
            });
            self.create(fresh).await;
        }
        self.sleep(3.0).await;
    }

    pub(super) async fn create(&self, object: Value) {
        let resource = resource(&object);
        let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates a Job of `pods` pods with these requests that run for some seconds.
    pub(super) async fn job(
        &self,
        name: &str,
        queue: &str,
        class: &str,
        pods: u32,
        requests: Value,
        seconds: u32,
    ) {
        let mut labels = json!({"kueue.x-k8s.io/queue-name": queue});
        if !class.is_empty() {
            labels["kueue.x-k8s.io/priority-class"] = json!(class);
        }
        let mut resources = json!({"requests": requests});
        if let Some(gpus) = requests.get("nvidia.com/gpu") {
            resources["limits"] = json!({"nvidia.com/gpu": gpus});
        }
        let container = json!({"name": "c", "image": "busybox", "resources": resources});
        self.create(json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
            "spec": {
                "parallelism": pods, "completions": pods, "suspend": true,
                "template": {
                    "metadata": {"annotations": {"example.com/duration": seconds.to_string()}},
                    "spec": {"restartPolicy": "Never", "containers": [container]},
                },
            },
        }))
        .await;
    }

    /// Creates a plain Pod, in a group of three if `group` is given.
    pub(super) async fn pod(
        &self,
        name: &str,
        class: &str,
        cpu: u32,
        seconds: u32,
        group: Option<&str>,
    ) {
        let mut meta = json!({
            "name": name, "namespace": self.namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/priority-class": class},
            "annotations": {"example.com/duration": seconds.to_string()},
        });
        if let Some(group) = group {
            meta["labels"]["kueue.x-k8s.io/pod-group-name"] = json!(group);
            meta["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = json!("3");
        }
        let resources = json!({"requests": {"cpu": cpu.to_string()}});
        self.create(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": meta,
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "busybox", "resources": resources}],
            },
        }))
        .await;
    }

    pub(super) async fn sleep(&self, seconds: f64) {
        self.clock.sleep(Duration::from_secs_f64(seconds)).await;
    }

    /// Deletes Jobs and their dependents.
    pub(super) async fn delete_jobs(&self, names: &[&str]) {
        let api: Api<Job> = Api::namespaced(self.client.clone(), &self.namespace);
        for name in names {
            api.delete(name, &DeleteParams::background()).await.unwrap();
        }
    }

    async fn all<K>(&self) -> Vec<Value>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + Serialize,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let list = api.list(&ListParams::default()).await.unwrap();
        let kind = K::kind(&()).into_owned();
        list.iter()
            .map(|object| {
                let mut value = serde_json::to_value(object).unwrap();
                value["kind"] = json!(kind);
                value
            })
            .collect()
    }

    /// Compares the lab with a recorded state. `ignored` are parts of lines that are not deterministic.
    pub(super) async fn compare(&self, checkpoint: &str, ignored: &[&str]) {
        let normal = Normalizer::new();
        let text =
            std::fs::read_to_string(self.recording.join(format!("{checkpoint}.yaml"))).unwrap();
        let there = documents(&text);
        let mut here = self.all::<Workload>().await;
        here.extend(self.all::<Job>().await);
        here.extend(self.all::<Pod>().await);
        here.extend(self.all::<Event>().await);
        let stays = |line: &&String| !ignored.iter().any(|part| line.contains(part));
        let of =
            |picture: StateLines| -> StateLines { picture.iter().filter(stays).cloned().collect() };
        let (there, here) = (
            of(normal.state_lines(&there)),
            of(normal.state_lines(&here)),
        );
        let missing: Vec<_> = there.difference(&here).collect();
        let added: Vec<_> = here.difference(&there).collect();
        assert!(
            missing.is_empty() && added.is_empty(),
            "{}/{checkpoint}\nmissing: {missing:#?}\nadded: {added:#?}",
            self.recording.display()
        );
    }
}
