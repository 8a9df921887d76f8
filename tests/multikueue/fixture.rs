//! [`Fixture`]: a manager with worker clusters, and functions to use them.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kueue_lab_api::config::{Configuration, Feature};
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller_runtime::Api;
use kueue_lab_lab::{ClusterRole, KueueConfig, Lab, LabConfig};
use kueue_lab_nodes::NodePools;
use serde_json::{Value, json};

use crate::objects::{KindNames, condition, definition, namespace, resource};

/// A ClusterQueue of 4 CPUs with the check of MultiKueue, and a LocalQueue.
pub(crate) const QUEUES: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default-flavor
      resources: [{name: cpu, nominalQuota: 4}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
";
pub(crate) const NODES: &str = "pools:
- name: cpu
  count: 2
  resources: {cpu: 8, memory: 32Gi, pods: 110}
";

pub(crate) struct Fixture {
    lab: Lab,
}

/// A cluster of the fixture: the manager, or the worker with a number from 1.
#[derive(Clone, Copy)]
pub(crate) enum On {
    Manager,
    Worker(usize),
}

/// Runs a test with a manager and `workers` workers.
pub(crate) fn with_workers<F: Future<Output = Fixture>>(
    workers: usize,
    test: impl FnOnce(Fixture) -> F,
) {
    with_config(workers, |_| {}, test);
}

/// As [`with_config`], with other queues and nodes.
pub(crate) fn with_queues<F: Future<Output = Fixture>>(
    workers: usize,
    (queues, nodes): (&str, &str),
    change: impl FnOnce(&mut KueueConfig),
    test: impl FnOnce(Fixture) -> F,
) {
    let presets = tempfile::tempdir().unwrap();
    std::fs::create_dir(presets.path().join("one")).unwrap();
    std::fs::write(presets.path().join("one/queues.yaml"), queues).unwrap();
    let mut kueue = kueue_config();
    change(&mut kueue);
    let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
    let mut config = lab_config(clock, presets.path(), "one", workers);
    config.components.kueue = Some(kueue);
    config.components.nodes = NodePools::parse(nodes).unwrap();

    // On the heap: the future is large, and the stack of a test is not.
    virtual_runtime()
        .unwrap()
        .block_on(Box::pin(run(config, test)));
}

/// As [`with_workers`], with another configuration of Kueue.
pub(crate) fn with_config<F: Future<Output = Fixture>>(
    workers: usize,
    change: impl FnOnce(&mut KueueConfig),
    test: impl FnOnce(Fixture) -> F,
) {
    with_queues(workers, (QUEUES, NODES), change, test);
}

/// Runs a test with a shipped preset, two workers and the nodes of the lab.
pub(crate) fn with_shipped_preset<F: Future<Output = Fixture>>(
    preset: &str,
    test: impl FnOnce(Fixture) -> F,
) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
    let mut config = lab_config(clock, &root.join("presets"), preset, 2);
    config.components.nodes = NodePools::load(&root.join("lab/nodes.yaml")).unwrap();

    // On the heap: the future is large, and the stack of a test is not.
    virtual_runtime()
        .unwrap()
        .block_on(Box::pin(run(config, test)));
}

/// The configuration of a manager without listener and nodes.
pub(crate) fn lab_config(clock: Clock, presets: &Path, preset: &str, workers: usize) -> LabConfig {
    let mut config = LabConfig::embedded(clock, Entropy::seeded(1), presets);
    config.presets.active = Some(preset.to_owned());
    config.cluster.role = ClusterRole::Manager { workers };
    config
}

async fn run<F: Future<Output = Fixture>>(config: LabConfig, test: impl FnOnce(Fixture) -> F) {
    let fixture = Fixture {
        lab: Lab::start(config).await.unwrap(),
    };
    fixture
        .until(On::Manager, "AdmissionCheck", "multikueue", |check| {
            condition(check, "Active").as_deref()
                == Some("True/Active: The admission check is active")
        })
        .await;
    let fixture = test(fixture).await;
    fixture.lab.stop().await;
}

pub(crate) fn kueue_config() -> KueueConfig {
    let text = "apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks: [batch/job, pod, deployment, statefulset, jobset.x-k8s.io/jobset, kubeflow.org/mpijob,
    kubeflow.org/pytorchjob, kubeflow.org/tfjob, kubeflow.org/xgboostjob, kubeflow.org/paddlejob,
    kubeflow.org/jaxjob, ray.io/rayjob, ray.io/raycluster, ray.io/rayservice,
    trainer.kubeflow.org/trainjob, workload.codeflare.dev/appwrapper,
    leaderworkerset.x-k8s.io/leaderworkerset]
";
    kueue_lab_api::config::load(text).unwrap()
}

/// Enables a feature gate.
pub(crate) fn enable(config: &mut KueueConfig, feature: Feature) {
    config.gates = config.gates.with(feature, true);
}

pub(crate) fn configuration(config: &mut KueueConfig) -> &mut Configuration {
    &mut config.configuration
}

impl Fixture {
    pub(crate) fn client(&self, on: On) -> Client {
        match on {
            On::Manager => self.lab.client(),
            On::Worker(number) => self.lab.worker_clients().remove(number - 1).1,
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.lab.clock()
    }

    pub(crate) async fn sleep(&self, seconds: u64) {
        self.clock().sleep(Duration::from_secs(seconds)).await;
    }

    fn api(&self, on: On, kind: &str) -> Api<DynamicObject> {
        let (resource, namespaced) = resource(kind);
        match namespaced {
            true => Api::namespaced_with(self.client(on), namespace(kind), &resource),
            false => Api::all_with(self.client(on), &resource),
        }
    }

    /// Creates the objects of a YAML stream.
    pub(crate) async fn apply(&self, on: On, yaml: &str) {
        for document in yaml.split("\n---\n") {
            let object: Value = serde_yaml::from_str(document).unwrap();
            let kind = object["kind"].as_str().unwrap().to_owned();
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            let api = self.api(on, &kind);
            api.create(&kube::api::PostParams::default(), &object)
                .await
                .unwrap();
        }
    }

    pub(crate) async fn find(&self, on: On, kind: &str, name: &str) -> Option<Value> {
        let found = self.api(on, kind).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub(crate) async fn list(&self, on: On, kind: &str) -> Vec<Value> {
        let api = self.api(on, kind);
        let items = api.list(&ListParams::default()).await.unwrap().items;
        items
            .into_iter()
            .map(|object| serde_json::to_value(object).unwrap())
            .collect()
    }

    pub(crate) async fn patch(&self, on: On, kind: &str, name: &str, patch: Value) {
        let api = self.api(on, kind);
        let patch = Patch::Merge(patch);
        api.patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Merges into the status of an object.
    pub(crate) async fn patch_status(&self, on: On, kind: &str, name: &str, status: Value) {
        let api = self.api(on, kind);
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Provisions the capacity of a ProvisioningRequest.
    pub(crate) async fn provision(&self, on: On, request: &str) {
        let status = json!({"conditions": [{
            "type": "Provisioned", "status": "True", "reason": "Provisioned", "message": "",
            "lastTransitionTime": "2026-03-02T12:00:00Z",
        }]});
        self.patch_status(on, "ProvisioningRequest", request, status)
            .await;
    }

    /// Sets the state of a check of a Workload.
    pub(crate) async fn set_check(&self, on: On, workload: &str, check: &str, state: &str) {
        let found = self.find(on, "Workload", workload).await.unwrap();
        let mut checks = found["status"]["admissionChecks"].clone();
        let mut states = checks.as_array_mut().unwrap().iter_mut();
        let found = states.find(|s| s["name"] == check).unwrap();
        found["state"] = state.into();
        found["message"] = "by the test".into();
        let status = json!({ "admissionChecks": checks });
        self.patch_status(on, "Workload", workload, status).await;
    }

    /// Waits until the Workload runs in a worker; returns the number of the worker.
    pub(crate) async fn until_dispatched(&self, workload: &str) -> usize {
        let found = self
            .until(On::Manager, "Workload", workload, |wl| {
                wl["status"]["clusterName"].is_string()
                    && condition(wl, "Admitted").is_some_and(|c| c.starts_with("True"))
            })
            .await;
        let name = found["status"]["clusterName"].as_str().unwrap();
        name.strip_prefix("worker").unwrap().parse().unwrap()
    }

    /// Nominates clusters as an external dispatcher does: with the fields and the manager of Kueue's
    /// admission.
    pub(crate) async fn nominate(&self, name: &str, clusters: &[&str]) {
        self.apply_status(name, "kueue-admission", |status| {
            status["nominatedClusterNames"] = json!(clusters);
        })
        .await;
    }

    /// Changes the status of a Workload of the manager by server-side apply of all its fields.
    pub(crate) async fn apply_status(
        &self,
        name: &str,
        field_manager: &str,
        change: impl FnOnce(&mut Value),
    ) {
        let mut workload = self.find(On::Manager, "Workload", name).await.unwrap();
        change(&mut workload["status"]);
        let body = json!({
            "apiVersion": workload["apiVersion"],
            "kind": "Workload",
            "metadata": {"name": name, "namespace": "default"},
            "status": workload["status"],
        });
        let params = PatchParams::apply(field_manager).force();
        let api = self.api(On::Manager, "Workload");
        api.patch_status(name, &params, &Patch::Apply(body))
            .await
            .unwrap();
    }

    /// Restarts Kueue's controller of a cluster: its Pod is deleted, and the next one leads.
    pub(crate) async fn restart_controller(&self, on: On) {
        let client = self.client(on);
        let leases: Api<Lease> = Api::namespaced(client.clone(), "kueue-system");
        let pods: Api<Pod> = Api::namespaced(client, "kueue-system");
        let mut deleted = None;
        for _ in 0..600 {
            let lease = leases.get("c1f6bfd2.kueue.x-k8s.io").await.unwrap();
            let holder = lease.spec.unwrap().holder_identity.unwrap_or_default();
            let leader = holder.split('_').next().unwrap_or_default().to_owned();
            let exists = pods.get_opt(&leader).await.unwrap().is_some();
            match &deleted {
                Some(before) if exists && *before != leader => return,
                None if exists => {
                    let params = DeleteParams::default();
                    pods.delete(&leader, &params).await.unwrap();
                    deleted = Some(leader);
                }
                _ => {}
            }
            self.clock().sleep(Duration::from_millis(250)).await;
        }
        panic!("no controller leads after {deleted:?}");
    }

    /// Creates the CustomResourceDefinition of a namespaced kind without rules; waits until it is served.
    pub(crate) async fn define(&self, on: On, names: &KindNames<'_>) {
        self.apply(on, &definition(names)).await;
        let name = format!("{}.{}", names.plural, names.group);
        self.until(on, "CustomResourceDefinition", &name, |d| {
            let conditions = d["status"]["conditions"].as_array();
            conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Established"))
        })
        .await;
    }

    pub(crate) async fn delete(&self, on: On, kind: &str, name: &str) {
        let api = self.api(on, kind);
        api.delete(name, &DeleteParams::background()).await.unwrap();
    }

    /// Waits until an object exists and `done`; returns it.
    pub(crate) async fn until(
        &self,
        on: On,
        kind: &str,
        name: &str,
        done: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = None;
        for _ in 0..3600 {
            last = self.find(on, kind, name).await;
            if let Some(object) = last.as_ref().filter(|object| done(object)) {
                return object.clone();
            }
            self.clock().sleep(Duration::from_millis(250)).await;
        }
        let last = last.map(|object| object["status"].to_string());
        panic!("{kind} {name}: {last:?}");
    }

    pub(crate) async fn until_gone(&self, on: On, kind: &str, name: &str) {
        for _ in 0..3600 {
            if self.find(on, kind, name).await.is_none() {
                return;
            }
            self.clock().sleep(Duration::from_millis(250)).await;
        }
        panic!("{kind} {name} exists");
    }

    /// The only Workload of a cluster whose name starts with `prefix`.
    pub(crate) async fn workload(&self, on: On, prefix: &str) -> String {
        for _ in 0..400 {
            for workload in self.list(on, "Workload").await {
                let name = workload["metadata"]["name"].as_str().unwrap();
                if name.starts_with(prefix) {
                    return name.to_owned();
                }
            }
            self.clock().sleep(Duration::from_millis(250)).await;
        }
        panic!("no Workload {prefix}");
    }

    /// The notes of the Events about an object with this reason.
    pub(crate) async fn events(&self, on: On, name: &str, reason: &str) -> Vec<String> {
        let events = self.list(on, "Event").await.into_iter();
        let events = events
            .filter(|event| event["involvedObject"]["name"] == name && event["reason"] == reason);
        events
            .map(|event| event["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Cuts or restores the connection to a worker.
    pub(crate) async fn set_network(&self, worker: usize, connected: bool) {
        let value = if connected {
            Value::Null
        } else {
            json!("down")
        };
        let patch = json!({"metadata": {"annotations": {"kueue-lab.dev/network": value}}});
        let name = format!("worker{worker}");
        self.patch(On::Manager, "MultiKueueCluster", &name, patch)
            .await;
    }

    /// Leaves less quota than a Job needs in a worker.
    pub(crate) async fn set_quota(&self, on: On, cpu: u32) {
        let patch = json!({"spec": {"resourceGroups": [{
            "coveredResources": ["cpu"],
            "flavors": [{"name": "default-flavor", "resources": [
                {"name": "cpu", "nominalQuota": cpu.to_string()},
            ]}],
        }]}});
        self.patch(on, "ClusterQueue", "cq", patch).await;
    }
}
