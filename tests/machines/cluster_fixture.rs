//! An API server with machines under test, and functions to use it.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller_runtime::ComponentClients;
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_nodes::NodePools;
use kueue_lab_operators::crds;
use serde_json::{Value, json};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

/// An API server with machines.
pub(crate) struct TestCluster {
    pub client: Client,
    pub clock: Clock,
    pub machines: Machines,
    pub pods: Api<Pod>,
    pub nodes: Api<Node>,
}

/// Two nodes of 4 CPUs and 8 GPUs.
pub(crate) const POOLS: &str =
    "- name: gpu\n  count: 2\n  resources: {cpu: 4, memory: 16Gi, nvidia.com/gpu: 8}\n";

/// Runs a test in virtual time with these node pools.
pub(crate) fn with_cluster<F: Future<Output = ()>>(
    pools: &str,
    test: impl FnOnce(TestCluster) -> F,
) {
    run(pools, &[], MachinesConfig::embedded(), test);
}

/// Runs a test in virtual time with these node pools and the kinds of job operators.
pub(crate) fn with_operators<F: Future<Output = ()>>(
    pools: &str,
    test: impl FnOnce(TestCluster) -> F,
) {
    let all: Vec<Value> = crds::definitions().collect();
    run(pools, &all, MachinesConfig::embedded(), test);
}

/// Runs a test in virtual time with these node pools, whose nodes renew their Leases once an hour.
pub(crate) fn with_sparse_heartbeats<F: Future<Output = ()>>(
    pools: &str,
    test: impl FnOnce(TestCluster) -> F,
) {
    let config = MachinesConfig {
        sparse_heartbeats: true,
        ..MachinesConfig::embedded()
    };
    run(pools, &[], config, test);
}

/// Logs what `RUST_LOG` selects.
fn start_logging() {
    let filter: Option<Targets> = std::env::var("RUST_LOG").ok().and_then(|f| f.parse().ok());
    let layer = fmt::layer().with_test_writer();
    let filtered = layer.with_filter(filter.unwrap_or_default());
    // Another test of the process may have started it.
    let _ = registry().with(filtered).try_init();
}

fn run<F: Future<Output = ()>>(
    pools: &str,
    kinds: &[Value],
    config: MachinesConfig,
    test: impl FnOnce(TestCluster) -> F,
) {
    start_logging();
    virtual_runtime().unwrap().block_on(async {
        let start = "2026-03-02T12:00:00Z".parse().unwrap();
        let clock = Clock::starting_at(start);
        let entropy = Entropy::seeded(1);
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        create_namespace(&client).await;
        for kind in kinds {
            let name = kind["metadata"]["name"].as_str().unwrap();
            create_definition(&client, &crds::definition(name).unwrap()).await;
        }
        let clients = ComponentClients::new(move |user_agent| server.client_of(user_agent));
        let runtime = std::sync::Arc::new(kueue_lab_container_runtime::SimulatedRuntime::default());
        let machines = Machines::start(clients, clock.clone(), entropy, config, runtime).await;
        machines.apply_pools(NodePools::parse(pools).unwrap()).await;
        test(TestCluster {
            pods: Api::namespaced(client.clone(), "test"),
            nodes: Api::all(client.clone()),
            client,
            clock,
            machines,
        })
        .await;
    });
}

/// Creates a CustomResourceDefinition.
pub(crate) async fn create_definition(client: &Client, definition: &Value) {
    let mut definition = definition.clone();
    let group = definition["spec"]["group"].as_str().unwrap();
    if group.ends_with("k8s.io") {
        definition["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved"});
    }
    let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
    let params = PostParams::default();
    Api::all(client.clone())
        .create(&params, &definition)
        .await
        .unwrap();
}

/// Creates the namespace `test` with its default ServiceAccount.
async fn create_namespace(client: &Client) {
    let meta = |name: &str| ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    };
    let params = PostParams::default();
    let namespace = Namespace {
        metadata: meta("test"),
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&params, &namespace)
        .await
        .unwrap();
    let account = ServiceAccount {
        metadata: meta("default"),
        ..ServiceAccount::default()
    };
    // The ServiceAccount controller may be faster.
    let _ = Api::namespaced(client.clone(), "test")
        .create(&params, &account)
        .await;
}

/// A pod with one container that runs this shell script; `more` is merged into the spec.
pub(crate) fn pod(name: &str, script: &str, more: Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script]}],
        },
    });
    if let Value::Object(more) = more {
        for (key, value) in more {
            pod["spec"][key] = value;
        }
    }
    serde_json::from_value(pod).unwrap()
}

/// The same pod with these requests.
pub(crate) fn with_requests(mut pod: Pod, requests: Value) -> Pod {
    let resources = json!({"requests": requests, "limits": requests});
    let spec = pod.spec.as_mut().unwrap();
    spec.containers[0].resources = Some(serde_json::from_value(resources).unwrap());
    pod
}

impl TestCluster {
    pub(crate) async fn create(&self, pod: &Pod) -> Pod {
        self.pods.create(&PostParams::default(), pod).await.unwrap()
    }

    /// Waits until a pod satisfies a condition.
    pub(crate) async fn wait_for_pod(&self, name: &str, wanted: impl Fn(&Pod) -> bool) -> Pod {
        for _ in 0..3_000 {
            let pod = self.pods.get(name).await.unwrap();
            if wanted(&pod) {
                return pod;
            }
            self.clock.sleep(Duration::from_millis(200)).await;
        }
        panic!(
            "{name} never was as wanted: {:#?}",
            self.pods.get(name).await
        );
    }

    /// Waits until a pod is in a phase.
    pub(crate) async fn wait_for_phase(&self, name: &str, phase: &str) -> Pod {
        self.wait_for_pod(name, |pod| phase_of(pod) == phase).await
    }

    /// Waits until a pod is deleted.
    pub(crate) async fn wait_for_deletion(&self, name: &str) {
        for _ in 0..1_000 {
            if self.pods.get_opt(name).await.unwrap().is_none() {
                return;
            }
            self.clock.sleep(Duration::from_millis(200)).await;
        }
        panic!("{name} was not deleted");
    }

    /// Reasons and messages of the Events about a pod, in the order of their names.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        // Events are written asynchronously.
        self.clock.sleep(Duration::from_millis(10)).await;
        let events: Api<Event> = Api::namespaced(self.client.clone(), "test");
        let of = format!("involvedObject.name={name}");
        let list = events.list(&ListParams::default().fields(&of)).await;
        let mut list = list.unwrap().items;
        list.sort_by_key(|e| e.name_any());
        list.into_iter()
            .map(|e| {
                format!(
                    "{} {}: {}",
                    e.type_.unwrap_or_default(),
                    e.reason.unwrap_or_default(),
                    e.message.unwrap_or_default()
                )
            })
            .collect()
    }
}

pub(crate) fn phase_of(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status.and_then(|s| s.phase.as_deref()).unwrap_or_default()
}

/// The status of the first container.
pub(crate) fn container_status(pod: &Pod) -> &ContainerStatus {
    let status = pod.status.as_ref();
    &status.unwrap().container_statuses.as_ref().unwrap()[0]
}

/// The exit code of the terminated first container.
pub(crate) fn exit_code(pod: &Pod) -> i32 {
    let state = container_status(pod).state.as_ref().unwrap();
    state.terminated.as_ref().unwrap().exit_code
}

pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Status, reason and message of a condition.
pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<(String, String, String)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let c = conditions.iter().find(|c| c.type_ == kind)?;
    Some((
        c.status.clone(),
        c.reason.clone().unwrap_or_default(),
        c.message.clone().unwrap_or_default(),
    ))
}
