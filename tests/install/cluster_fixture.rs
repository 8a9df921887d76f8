//! A cluster without Kueue, and a controller to install there.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Error};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_controller_runtime::Context;
use kueue_lab_install::{
    CertRotator, FailurePolicy, Installer, NAMESPACE, WebhookEndpoint, WebhookRoute,
};
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_nodes::NodePools;
use kueue_lab_webhooks::{AdmissionHandler, WebhookServer};
use serde_json::{Value, json};

/// Waits until `probe` returns a value, for at most three minutes.
pub(crate) async fn wait_for<T, F: Future<Output = Option<T>>>(
    what: &str,
    probe: impl Fn() -> F,
) -> T {
    for _ in 0..3600 {
        if let Some(found) = probe().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timed out waiting until {what}");
}

/// An existing cluster: an API server with its controllers, a scheduler and two nodes.
pub(crate) struct TestCluster {
    pub server: ApiServer,
    pub client: Client,
    _machines: Machines,
}

const NODES: &str = "\
pools:
- name: gpu
  count: 2
  resources: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 8}
";

impl TestCluster {
    pub(crate) async fn start() -> Self {
        let (clock, entropy) = (Clock::real(), Entropy::seeded(7));
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        let config = MachinesConfig::embedded();
        let runtime = std::sync::Arc::new(kueue_lab_container_runtime::SimulatedRuntime::default());
        let machines = Machines::start(client.clone(), clock, entropy, config, runtime).await;
        machines.apply_pools(NodePools::parse(NODES).unwrap()).await;
        let cluster = Self {
            server,
            client,
            _machines: machines,
        };
        cluster
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}))
            .await
            .unwrap();
        wait_for("the service account", || async {
            cluster.get("v1", "ServiceAccount", "team", "default").await
        })
        .await;
        cluster
    }

    fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    pub(crate) async fn create(&self, object: Value) -> Result<Value, Error> {
        let text = |at: &str| {
            object
                .pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        let api = self.api(version, kind, text("/metadata/namespace"));
        let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let made = api.create(&PostParams::default(), &typed).await?;
        Ok(serde_json::to_value(made).unwrap())
    }

    pub(crate) async fn get(
        &self,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        let got = self
            .api(version, kind, namespace)
            .get_opt(name)
            .await
            .unwrap();
        got.map(|object| serde_json::to_value(object).unwrap())
    }

    /// A flavor, a ClusterQueue of `gpus` GPUs and a LocalQueue `lq` in `team`.
    pub(crate) async fn create_queues(&self, gpus: u32) {
        let group = json!({
            "coveredResources": ["cpu", "nvidia.com/gpu"],
            "flavors": [{"name": "h100", "resources": [
                {"name": "cpu", "nominalQuota": "32"},
                {"name": "nvidia.com/gpu", "nominalQuota": gpus.to_string()},
            ]}],
        });
        for (kind, namespace, name, spec) in [
            ("ResourceFlavor", "", "h100", json!({})),
            (
                "ClusterQueue",
                "",
                "cq",
                json!({"namespaceSelector": {}, "resourceGroups": [group]}),
            ),
            ("LocalQueue", "team", "lq", json!({"clusterQueue": "cq"})),
        ] {
            let object = json!({
                "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind,
                "metadata": {"name": name, "namespace": namespace}, "spec": spec,
            });
            self.create(object).await.unwrap();
        }
    }

    pub(crate) async fn job(&self, name: &str, gpus: u32) -> Value {
        self.create(job(name, gpus)).await.unwrap()
    }

    pub(crate) fn jobs(&self) -> Api<Job> {
        Api::namespaced(self.client.clone(), "team")
    }
}

/// A long-running Job in the queue `lq`.
pub(crate) fn job(name: &str, gpus: u32) -> Value {
    let amounts = json!({"cpu": "1", "nvidia.com/gpu": gpus.to_string()});
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": name, "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "lq"},
        },
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "c", "image": "busybox", "command": ["sleep", "100000"],
                "resources": {"requests": amounts, "limits": amounts},
            }],
        }}},
    })
}

/// An installed controller.
pub(crate) struct InstalledController {
    pub installer: Installer,
    pub ca_bundle_keeper: CertRotator,
    pub endpoint: WebhookEndpoint,
    pub context: Context,
}

impl InstalledController {
    /// Installs everything and runs the controller.
    pub(crate) async fn install(cluster: &TestCluster) -> Self {
        let (client, clock) = (cluster.client.clone(), Clock::real());
        let config = ControllerConfig::default();
        let reach = WebhookRoute::Loopback;
        let ca_bundle_keeper =
            CertRotator::in_memory(reach.server_names(), Default::default(), clock.clone())
                .unwrap();
        let context = Context::new(client.clone(), clock.clone(), Entropy::seeded(3));
        let policy = Arc::new(AdmissionHandler::new(config.gates));
        let certificates = ca_bundle_keeper.certificates();
        let server = WebhookServer::start(
            &context.tasks,
            reach.listen_address(0),
            policy.clone(),
            certificates,
        );
        let endpoint = WebhookEndpoint {
            address: server.await.unwrap().address(),
            route: reach,
            authority: ca_bundle_keeper.authority(),
            failure_policy: FailurePolicy::Ignore,
        };
        let installer = Installer::new(client, clock, NAMESPACE);
        installer.install_crds(Some(&endpoint)).await.unwrap();
        let controller = Controller::start(&context, config).await;
        policy.set_job_webhooks(controller.webhooks());
        let managed = |f: &str| matches!(f, "batch/job" | "pod");
        installer
            .install_webhooks(&endpoint, managed)
            .await
            .unwrap();
        Self {
            installer,
            ca_bundle_keeper,
            endpoint,
            context,
        }
    }

    /// Stops without a graceful shutdown.
    pub(crate) async fn kill(self) -> Installer {
        self.context.tasks.shutdown().await;
        self.installer
    }
}

/// The message of an error.
pub(crate) fn error_message(outcome: Result<Value, Error>) -> String {
    match outcome {
        Err(Error::Api(status)) => status.message.clone(),
        other => panic!("not rejected: {other:?}"),
    }
}
