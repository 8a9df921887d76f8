//! [`ExternalCluster`]: an API server on the network with a control plane and nodes with kubelets, and
//! without Kueue. `tests/suite` includes this file too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_apiserver::storage::StorageLimits;
use kueue_lab_apiserver::{ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_kubelet::{KubeletOptions, NodeScope};
use kueue_lab_machines::{Machines, MachinesConfig};
use serde_json::{Value, json};

use crate::tcp_proxy::TcpProxy;

/// The name of the cluster's context.
pub(crate) const CONTEXT_NAME: &str = "other";

/// A cluster that the lab did not start.
pub(crate) struct ExternalCluster {
    /// The API server, to add admission plugins to.
    pub server: ApiServer,
    /// The proxy between the API server and external clients.
    pub proxy: TcpProxy,
    _machines: Machines,
    _serving: ServingHandle,
    folder: tempfile::TempDir,
    heartbeat_task: tokio::task::JoinHandle<()>,
}

impl Drop for ExternalCluster {
    fn drop(&mut self) {
        self.heartbeat_task.abort();
    }
}

impl ExternalCluster {
    /// Starts a cluster with two nodes, `worker-0` and `worker-1`, of 8 cpus, 32Gi and no GPU.
    pub(crate) async fn start() -> Self {
        Self::start_with(Clock::real(), StorageLimits::default()).await
    }

    /// Starts such a cluster with this clock and watch history.
    pub(crate) async fn start_with(clock: Clock, limits: StorageLimits) -> Self {
        let entropy = Entropy::from_os();
        let server = ApiServer::builder(clock.clone(), entropy.clone());
        let server = server.limits(limits).build();
        let config = MachinesConfig {
            nodes: false,
            autoscaler: false,
            kubelets: KubeletOptions {
                startup: Duration::from_millis(50),
                jitter: Duration::ZERO,
                nodes: NodeScope::Unmanaged,
            },
            ..MachinesConfig::embedded()
        };
        let client = server.client();
        let runtime = std::sync::Arc::new(kueue_lab_container_runtime::SimulatedRuntime::default());
        let machines =
            Machines::start(client.clone(), clock.clone(), entropy, config, runtime).await;
        let options = ServeOptions {
            name: CONTEXT_NAME.into(),
            ..ServeOptions::default()
        };
        let serving = server.serve(options).await.unwrap();
        machines.set_root_ca(serving.certificate_authority_pem());
        let proxy = TcpProxy::forward_to(serving.addr()).await;
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (serving.addr().to_string(), proxy.address().to_string());
        let kubeconfig = serving.kubeconfig().replace(&inside, &outside);
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
        let direct = folder.path().join("kubeconfig-direct");
        std::fs::write(direct, serving.kubeconfig()).unwrap();
        for name in ["worker-0", "worker-1"] {
            create_node(&client, name, &clock).await;
        }
        let heart = tokio::spawn(async move {
            loop {
                for name in ["worker-0", "worker-1"] {
                    renew_node_lease(&client, name, &clock).await;
                }
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        });
        Self {
            server,
            proxy,
            _machines: machines,
            _serving: serving,
            folder,
            heartbeat_task: heart,
        }
    }

    /// A client inside the cluster, without the proxy.
    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// The kubeconfig of external clients; its context is [`CONTEXT_NAME`].
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// A kubeconfig for external clients that bypasses the proxy.
    pub(crate) fn direct_kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig-direct")
    }

    /// A folder with the lifetime of the cluster.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a kubeconfig for a ServiceAccount, which is created with these RBAC rules.
    pub(crate) async fn kubeconfig_of(&self, account: &str, rules: Value) -> PathBuf {
        let client = self.client();
        create(
            &client,
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"namespace": "default", "name": account},
            }),
        )
        .await;
        create(
            &client,
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": account}, "rules": rules,
            }),
        )
        .await;
        create(&client, json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": account},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": account}],
        }))
        .await;
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
            Api::namespaced(client, "default");
        let request = serde_json::from_value(json!({"spec": {"audiences": []}, "metadata": {}}));
        let token = accounts
            .create_token_request(account, &PostParams::default(), &request.unwrap())
            .await
            .unwrap();
        let text = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let mut config: Value = serde_yaml::from_str(&text).unwrap();
        config["users"][0]["user"]["token"] = token.status.unwrap().token.into();
        let path = self.folder().join(format!("kubeconfig-{account}"));
        std::fs::write(&path, serde_yaml::to_string(&config).unwrap()).unwrap();
        path
    }

    /// Restarts a node's kubelet, which resets extended resources.
    pub(crate) async fn restart_kubelet(&self, name: &str) {
        let api: Api<Node> = Api::all(self.client());
        let status = api.get(name).await.unwrap().status.unwrap();
        let amounts = status.capacity.unwrap_or_default().into_keys();
        let extended = amounts.filter(|name| name.contains('/'));
        let zeros: serde_json::Map<_, _> = extended.map(|name| (name, "0".into())).collect();
        let patch = Patch::Merge(json!({"status": {"capacity": zeros, "allocatable": zeros}}));
        let params = PatchParams::default();
        api.patch_status(name, &params, &patch).await.unwrap();
    }
}

/// Creates an object of any kind.
pub(crate) async fn create(client: &Client, object: Value) {
    let (api, name) = dynamic(client, &object);
    let made = serde_json::from_value(object).unwrap();
    let created = api.create(&PostParams::default(), &made).await;
    created.unwrap_or_else(|e| panic!("{name}: {e}"));
}

/// The API of an object's kind and the object's name. Derives the plural from the kind.
fn dynamic(client: &Client, object: &Value) -> (Api<kube::api::DynamicObject>, String) {
    let (version, kind) = (
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource =
        kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(group, version, kind));
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let api = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    (api, name)
}

fn status(clock: &Clock) -> Value {
    let amounts = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
    let now = clock.time();
    json!({
        "capacity": amounts,
        "allocatable": amounts,
        "addresses": [{"type": "InternalIP", "address": "172.18.0.2"}],
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }],
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.36.0",
            "kubeProxyVersion": "", "containerRuntimeVersion": "containerd://2.2.0",
            "kernelVersion": "6.12.0", "osImage": "Debian", "machineID": "1", "systemUUID": "1",
            "bootID": "1",
        },
    })
}

async fn create_node(client: &Client, name: &str, clock: &Clock) {
    renew_node_lease(client, name, clock).await;
    create(client, json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {}, "status": status(clock),
    }))
    .await;
    let api: Api<Node> = Api::all(client.clone());
    let patch = Patch::Merge(json!({"status": status(clock)}));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Renews a node's Lease.
async fn renew_node_lease(client: &Client, name: &str, clock: &Clock) {
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
        Api::namespaced(client.clone(), "kube-node-lease");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
        "spec": {
            "holderIdentity": name, "leaseDurationSeconds": 40,
            "renewTime": clock.micro_time(),
        },
    });
    let params = PatchParams::apply("kubelet").force();
    // The next renewal follows soon.
    let _ = leases.patch(name, &params, &Patch::Apply(&lease)).await;
}
