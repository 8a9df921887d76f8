//! Workers in processes of their own: one is killed, its job is dispatched to the other, and it returns.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::network::until;
use crate::objects::condition;

pub(crate) const QUEUES: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  CHECKS
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
";
const MULTIKUEUE: &str = "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: multikueue}
spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: c}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: c}
spec: {clusters: [a, b]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: a}
spec: {clusterSource: {kubeConfig: {location: a, locationType: Secret}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: b}
spec: {clusterSource: {kubeConfig: {location: b, locationType: Secret}}}
";
/// The check that a lab with worker clusters creates.
pub(crate) const MULTIKUEUE_CHECK: &str =
    "admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}";
const CONFIGURATION: &str = "apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue: {workerLostTimeout: 3s}
integrations: {frameworks: [batch/job]}
";

/// A `kueue-lab up`, which is killed with SIGKILL.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a lab with the preset in `dir/preset`; returns when it is ready.
    pub(crate) fn start(dir: &Path, name: &str, preset: &str, port: u16) -> Self {
        Self::start_with(dir, name, preset, port, &[])
    }

    /// As [`start`](Self::start), with further arguments.
    fn start_with(dir: &Path, name: &str, preset: &str, port: u16, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
            .args(["up", "--headless", "--port", &port.to_string()])
            .args(arguments)
            .arg("--presets-dir")
            .arg(dir.join(preset))
            .arg("--kubeconfig-out")
            .arg(kubeconfig(dir, name))
            .arg("--data-dir")
            .arg(dir.join(format!("data-{name}")))
            .env("HOME", dir)
            .env("XDG_STATE_HOME", dir.join(format!("state-{name}")))
            .env_remove("KUBECONFIG")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut lines = stdout.lines().map_while(Result::ok);
        let ready = lines.any(|line| line.starts_with("ready "));
        assert!(ready, "{name} did not start");
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn kubeconfig(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.kubeconfig"))
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn workloads(client: &Client) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", "Workload");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "workloads");
    Api::namespaced_with(client.clone(), "default", &resource)
}

/// Waits until a MultiKueueCluster is connected, or not.
async fn until_connected(client: &Client, name: &str, connected: bool) {
    let gvk = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", "MultiKueueCluster");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "multikueueclusters");
    let clusters: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    until(async || {
        let cluster = json!(clusters.get(name).await.ok()?);
        let active = condition(&cluster, "Active")?;
        (active.starts_with("True/") == connected).then_some(())
    })
    .await;
}

/// Waits until the Workload is admitted by a worker; returns its name.
pub(crate) async fn until_dispatched(client: &Client, done: impl Fn(&str) -> bool) -> String {
    until(async || {
        let list = workloads(client).list(&ListParams::default()).await.ok()?;
        let workload: Value = json!(list.items.first()?);
        let cluster = workload["status"]["clusterName"].as_str()?;
        let is_admitted = condition(&workload, "Admitted")?.starts_with("True/");
        (is_admitted && done(cluster)).then(|| cluster.to_owned())
    })
    .await
}

/// Creates a Job that sleeps, when its queue and the webhooks are ready.
pub(crate) async fn create_job(client: &Client, seconds: &str) {
    let jobs: Api<k8s_openapi::api::batch::v1::Job> = Api::namespaced(client.clone(), "default");
    let container = json!({"name": "c", "image": "busybox", "command": ["sleep", seconds], "resources": {"requests": {"cpu": "1"}}});
    let job = json!({
        "metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    });
    let job = serde_json::from_value(job).unwrap();
    jobs.create(&PostParams::default(), &job).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_killed_worker_is_dispatched_to_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for preset in ["worker", "manager"] {
        std::fs::create_dir(dir.join(preset)).unwrap();
    }
    let manager = QUEUES.replace("CHECKS", MULTIKUEUE_CHECK) + MULTIKUEUE;
    for (file, text) in [
        ("worker/queues.yaml", QUEUES.replace("  CHECKS\n", "")),
        ("manager/queues.yaml", manager),
        ("manager/kueue.yaml", CONFIGURATION.to_owned()),
    ] {
        std::fs::write(dir.join(file), text).unwrap();
    }
    let ports = [("a", free_port()), ("b", free_port())];
    let mut workers =
        ports.map(|(name, port)| (name, port, Process::start(dir, name, "worker", port)));
    let permitted = ports.map(|(_, port)| port.to_string()).join(",");
    let arguments = ["--allow-host-ports", &permitted];
    let _manager = Process::start_with(dir, "manager", "manager", free_port(), &arguments);
    let loaded = Kubeconfig::read_from(kubeconfig(dir, "manager")).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(loaded, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "kueue-system");
    for (name, ..) in &workers {
        let text = std::fs::read_to_string(kubeconfig(dir, name)).unwrap();
        let secret = json!({"metadata": {"name": name}, "stringData": {"kubeconfig": text}});
        let secret = serde_json::from_value(secret).unwrap();
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
        until_connected(&client, name, true).await;
    }
    create_job(&client, "600").await;
    let first = until_dispatched(&client, |_| true).await;

    let index = workers
        .iter()
        .position(|(name, ..)| *name == first)
        .unwrap();
    let _ = workers[index].2.0.kill();
    until_connected(&client, &first, false).await;
    until_dispatched(&client, |cluster| cluster != first).await;

    let (name, port, _) = workers[index];
    workers[index].2 = Process::start(dir, name, "worker", port);
    until_connected(&client, name, true).await;
}
