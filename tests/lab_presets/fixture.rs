//! [`PresetLab`]: a lab in virtual time on a presets folder.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use kueue_lab_api::config::Configuration;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_lab::{KueueConfig, Lab, LabConfig, NodePools};
use serde_json::{Value, json};

pub(crate) const CONFIG_HEAD: &str =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
const OWN_NODES: &str =
    "pools:\n- {name: own, count: 1, resources: {cpu: 8, memory: 8Gi, pods: 20}}\n";

/// A flavor, a ClusterQueue `cq` and a LocalQueue `lq` with this CPU quota; more fields of the ClusterQueue.
pub(crate) fn queues(cpu: u32, fields: &str) -> String {
    format!(
        "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: default}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: cq
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources:
      - name: cpu
        nominalQuota: {cpu}
{fields}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: lq, namespace: default}}
spec: {{clusterQueue: cq}}
"
    )
}

/// A presets folder and the arguments of the lab.
pub(crate) struct Start {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) preset: Option<&'static str>,
    pub(crate) kueue: Option<KueueConfig>,
    pub(crate) nodes_of_presets: bool,
}

impl Start {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let start = Self {
            folder: tempfile::tempdir().unwrap(),
            preset: Some("a"),
            kueue: None,
            nodes_of_presets: true,
        };
        for (file, text) in files {
            write(&start.folder.path().join(file), text);
        }
        start
    }

    /// Runs `walk` on a new lab.
    pub(crate) fn run<F: Future<Output = ()>>(self, walk: impl FnOnce(PresetLab) -> F) {
        virtual_runtime().unwrap().block_on(async {
            let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
            let mut config =
                LabConfig::embedded(clock.clone(), Entropy::seeded(1), self.folder.path());
            config.presets.active = self.preset.map(str::to_owned);
            config.components.nodes = NodePools::parse(OWN_NODES).unwrap();
            config.components.nodes_of_presets = self.nodes_of_presets;
            config.components.kueue = self.kueue;
            config.components.operators = false;
            let lab = Lab::start(config);
            let lab = lab.await.unwrap();
            walk(PresetLab {
                client: lab.client(),
                folder: self.folder.path().to_owned(),
                lab,
                clock,
            })
            .await;
        });
    }
}

fn write(path: &std::path::Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A running lab.
pub(crate) struct PresetLab {
    pub(crate) lab: Lab,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    folder: PathBuf,
}

impl PresetLab {
    /// The path of a file of the presets folder.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Saves a file and waits until the presets are reloaded.
    pub(crate) async fn save(&self, file: &str, text: &str) {
        write(&self.folder.join(file), text);
        self.lab.presets().reload().await;
    }

    /// Deletes a file and waits until the presets are reloaded.
    pub(crate) async fn remove(&self, file: &str) {
        std::fs::remove_file(self.folder.join(file)).unwrap();
        self.lab.presets().reload().await;
    }

    /// The errors of the active preset.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.relative(&self.lab.presets().state().errors)
    }

    /// The warnings of the active preset.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.relative(&self.lab.presets().state().warnings)
    }

    fn relative(&self, findings: &[kueue_lab_presets::Finding]) -> Vec<String> {
        let folder = format!("{}/", self.folder.display());
        let texts = findings.iter().map(ToString::to_string);
        texts.map(|text| text.replace(&folder, "")).collect()
    }

    pub(crate) fn summary(&self) -> String {
        self.lab.presets().state().summary.clone()
    }

    /// The configuration that the controller runs with.
    pub(crate) fn configuration(&self) -> Configuration {
        let controller = self.lab.controller().unwrap();
        controller.shared().settings.configuration.clone()
    }

    /// The configuration in the ConfigMap.
    pub(crate) async fn config_map(&self) -> String {
        let map = self
            .config_maps()
            .get("kueue-manager-config")
            .await
            .unwrap();
        map.data.unwrap()["controller_manager_config.yaml"].clone()
    }

    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "kueue-system")
    }

    /// The names of the nodes, sorted.
    pub(crate) async fn nodes(&self) -> Vec<String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let nodes = nodes.list(&ListParams::default()).await.unwrap();
        let mut names: Vec<String> = nodes.iter().map(ResourceExt::name_any).collect();
        names.sort();
        names
    }

    /// The names of the worker clusters, when the manager is connected to them and to no other.
    pub(crate) async fn connected_workers(&self) -> Vec<String> {
        let workers = self.lab.worker_clients().into_iter().map(|(name, _)| name);
        let workers: Vec<String> = workers.collect();
        let clusters = self.api("kueue.x-k8s.io/v1beta2", "MultiKueueCluster", false);
        self.until("the manager is connected", async || {
            let clusters = clusters.list(&ListParams::default()).await.unwrap();
            let mut active: Vec<String> = Vec::new();
            for cluster in &clusters {
                let conditions = cluster.data["status"]["conditions"].as_array()?;
                let is_active = |c: &Value| c["type"] == "Active" && c["status"] == "True";
                conditions.iter().find(|c| is_active(c))?;
                active.push(cluster.name_any());
            }
            active.sort();
            (active == workers).then_some(())
        })
        .await;
        workers
    }

    /// The API of a kind; namespaced kinds in `default`.
    pub(crate) fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespaced: bool,
    ) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespaced {
            true => Api::default_namespaced_with(self.client.clone(), &resource),
            false => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(crate) fn cluster_queues(&self) -> Api<DynamicObject> {
        self.api("kueue.x-k8s.io/v1beta2", "ClusterQueue", false)
    }

    pub(crate) fn workloads(&self) -> Api<DynamicObject> {
        self.api("kueue.x-k8s.io/v1beta2", "Workload", true)
    }

    /// Creates a Job of one CPU in the queue `lq` that runs for 10 minutes.
    pub(crate) async fn create_job(&self, name: &str) {
        let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "600"],
            "resources": {"requests": {"cpu": 1}}});
        let job: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        }))
        .unwrap();
        let jobs = self.api("batch/v1", "Job", true);
        jobs.create(&Default::default(), &job).await.unwrap();
    }

    /// The admission times of the Workloads, by the name of their Job.
    pub(crate) async fn admissions(&self) -> Vec<(String, String)> {
        let workloads = self.workloads().list(&ListParams::default()).await.unwrap();
        let admitted = workloads.iter().filter_map(|workload| {
            let conditions = workload.data["status"]["conditions"].as_array()?;
            let of = |kind: &str| {
                conditions
                    .iter()
                    .find(|c| c["type"] == kind && c["status"] == "True")
            };
            let since = of("Admitted")?["lastTransitionTime"].as_str()?.to_owned();
            Some((workload.owner_references()[0].name.clone(), since))
        });
        let mut admitted: Vec<_> = admitted.collect();
        admitted.sort();
        admitted
    }

    /// `kubectl patch --type=merge` by another client.
    pub(crate) async fn kubectl_patch(&self, api: &Api<DynamicObject>, name: &str, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".into()),
            ..PatchParams::default()
        };
        api.patch(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Waits until `reached` returns a value.
    pub(crate) async fn until<T>(&self, what: &str, reached: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..600 {
            if let Some(value) = reached().await {
                return value;
            }
            self.clock.sleep(Duration::from_millis(500)).await;
        }
        panic!("timed out waiting until {what}");
    }
}
