//! The running machines of a cluster: start, node pools, failures, shutdown.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::watch;

use crate::config::MachinesConfig;
use kueue_lab_autoscaler::Autoscaler;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller_manager::ControllerManager;
use kueue_lab_controller_manager::workload_controllers;
use kueue_lab_controller_runtime::{Api, ComponentClients, Context, Informer};
use kueue_lab_controller_utils::resource_claims::ResourceClaimInformers;
use kueue_lab_host::HostAddresses;
use kueue_lab_kubelet::{CONTROL_PLANE_NODE, ContainerRuntime, ControlPlane, Kubelet, LogStore};
use kueue_lab_nodes::{
    ClusterType, FakeGpuController, KubeletAddress, NodePools, VirtualNodeController,
};
use {
    kueue_lab_autoscaler as autoscaler, kueue_lab_controller_manager as controller_manager,
    kueue_lab_nodes as nodes, kueue_lab_operators as operators, kueue_lab_scheduler as scheduler,
};

/// The running machines of a cluster.
pub struct Machines {
    context: Context,
    virtual_nodes: Option<VirtualNodeController>,
    fake_gpus: Option<FakeGpuController>,
    kubelet: Option<Kubelet>,
    autoscaler: Option<Autoscaler>,
    logs: LogStore,
    nodes: Informer<Node>,
    pods: Informer<Pod>,
    /// The objects of dynamic resource allocation, if the cluster serves them.
    devices: Option<ResourceClaimInformers>,
    /// The context of operators, with their user agent.
    operators: Context,
    config: MachinesConfig,
    runtime: Arc<dyn ContainerRuntime>,
    controller_manager: OnceLock<ControllerManager>,
    host_addresses: OnceLock<HostAddresses>,
}

impl Machines {
    /// Starts the parts that `config` enables, with clients of the user agents of Kubernetes'
    /// components; `runtime` runs the containers. There are no nodes until [`apply_pools`](Self::apply_pools).
    pub async fn start(
        clients: impl Into<ComponentClients>,
        clock: Clock,
        entropy: Entropy,
        config: MachinesConfig,
        runtime: Arc<dyn ContainerRuntime>,
    ) -> Self {
        let machines =
            Self::start_without_controller_manager(clients, clock, entropy, config, runtime).await;
        machines.start_controller_manager();
        machines
    }

    /// Like [`start`](Self::start), without the controllers and operators that
    /// [`start_controller_manager`](Self::start_controller_manager) starts.
    pub async fn start_without_controller_manager(
        clients: impl Into<ComponentClients>,
        clock: Clock,
        entropy: Entropy,
        config: MachinesConfig,
        runtime: Arc<dyn ContainerRuntime>,
    ) -> Self {
        let clients = clients.into();
        let client = clients.client("kube-controller-manager");
        let is_embedded = config.cluster_type == ClusterType::Embedded;
        let context = Context::new(client.clone(), clock.clone(), entropy);
        let context = context.with_streaming_lists(is_embedded);
        let context_of = |component| context.with_client(clients.client(component));
        let kubelet_context = context_of("kubelet");
        let nodes: Informer<Node> = Informer::builder(Api::all(client)).start(&context);
        let pods = workload_controllers::pod_informer(&context);
        let cluster_type = config.cluster_type;
        let virtual_nodes = config.nodes.then(|| {
            let sparse = config.sparse_heartbeats;
            VirtualNodeController::start(&kubelet_context, nodes.clone(), cluster_type, sparse)
        });
        let has_others = cluster_type == ClusterType::Remote;
        let fake_gpus =
            (config.nodes && has_others).then(|| FakeGpuController::start(&context, nodes.clone()));
        let devices = match config.scheduler || config.controllers.status_controllers {
            true => ResourceClaimInformers::start(&context).await,
            false => None,
        };
        if config.scheduler {
            scheduler::start(
                &context_of("kube-scheduler"),
                &pods,
                &nodes,
                devices.as_ref(),
            );
        }
        let kubelet = config.kubelet.then(|| {
            let virtual_nodes = virtual_nodes.clone();
            let has_failed = Arc::new(move |node: &str| {
                virtual_nodes
                    .as_ref()
                    .is_some_and(|virtual_nodes| virtual_nodes.has_failed(node))
            });
            Kubelet::start(
                &kubelet_context,
                config.kubelets,
                &pods,
                &nodes,
                devices.as_ref().map(|devices| devices.claims.clone()),
                has_failed,
                runtime.clone(),
            )
        });
        let autoscaler = config.autoscaler.then(|| {
            let context = context_of("cluster-autoscaler");
            let imported_nodes = config.imported_nodes;
            autoscaler::start(
                &context,
                &pods,
                &nodes,
                virtual_nodes.clone(),
                imported_nodes,
            )
        });
        // The binaries of operators are named `manager`.
        let operators = context_of("manager");
        nodes.wait_for_cache_sync().await;
        pods.wait_for_cache_sync().await;
        let logs = kubelet
            .as_ref()
            .map_or_else(|| LogStore::new(clock), Kubelet::logs);
        Self {
            context,
            virtual_nodes,
            fake_gpus,
            kubelet,
            autoscaler,
            logs,
            nodes,
            pods,
            devices,
            operators,
            config,
            runtime,
            controller_manager: OnceLock::new(),
            host_addresses: OnceLock::new(),
        }
    }

    /// Creates the ServiceAccount `default` in each namespace without one, if namespaces are managed here. The
    /// controller manager creates those of later namespaces.
    pub async fn create_service_accounts(&self) {
        if self.config.controllers.namespaces {
            controller_manager::create_service_accounts(&self.context.client).await;
        }
    }

    /// Starts the controllers of kube-controller-manager, the operators and the heartbeats of nodes, once.
    pub fn start_controller_manager(&self) {
        self.controller_manager.get_or_init(|| {
            if let Some(virtual_nodes) = &self.virtual_nodes {
                virtual_nodes.start_heartbeats();
            }
            if self.config.node_lifecycle {
                let (context, nodes, pods) = (&self.context, &self.nodes, &self.pods);
                nodes::node_lifecycle::start(context, nodes, pods);
                nodes::taint_eviction::start(context, nodes, pods);
                nodes::ttl_controller::start(context, nodes);
            }
            if let Some(devices) = &self.devices
                && self.config.controllers.status_controllers
            {
                let claims = &devices.claims;
                controller_manager::start_resource_claims(&self.context, &self.pods, claims);
                let (context, pods) = (&self.context, &self.pods);
                controller_manager::start_device_taint_eviction(context, pods, devices);
            }
            let config = self.config.controllers;
            let controllers =
                controller_manager::start(&self.context, config, &self.pods, &self.nodes);
            if let Some(shared) = &controllers.shared
                && self.config.operators
            {
                operators::start(
                    &self.operators,
                    &shared.recorder,
                    &shared.pods,
                    &shared.jobs,
                    &self.runtime,
                );
            }
            controllers
        });
    }

    /// Sets the addresses of this machine that connections to Pods and Services may reach, to which the pools
    /// add those of their nodes; none before. Has an effect once.
    pub fn set_host_addresses(&self, addresses: HostAddresses) {
        let addresses = self.host_addresses.get_or_init(|| addresses);
        if let Some(kubelet) = &self.kubelet {
            kubelet.set_host_addresses(addresses.clone());
        }
    }

    /// Applies node pools and fake resources of real nodes; returns when the nodes exist.
    pub async fn apply_pools(&self, pools: NodePools) {
        if let Some(addresses) = self.host_addresses.get() {
            addresses.set_nodes(pools.pools.iter().filter_map(|pool| pool.address));
        }
        if let Some(fake_gpus) = &self.fake_gpus {
            fake_gpus.apply(pools.real.clone()).await;
        }
        if let Some(virtual_nodes) = &self.virtual_nodes {
            virtual_nodes.apply(pools).await;
        }
    }

    /// The nodes of the pools that another client deleted, and that stay deleted until the pools are applied or
    /// their pool is scaled up. `None` if the lab has no nodes of its own.
    pub fn deleted_nodes(&self) -> Option<watch::Receiver<Arc<BTreeSet<String>>>> {
        let virtual_nodes = self.virtual_nodes.as_ref();
        virtual_nodes.map(VirtualNodeController::deleted_nodes)
    }

    /// The applied pools.
    pub fn pools(&self) -> Arc<NodePools> {
        self.virtual_nodes
            .as_ref()
            .map(VirtualNodeController::pools)
            .unwrap_or_default()
    }

    /// The logs of the containers on the lab's nodes.
    pub fn logs(&self) -> LogStore {
        self.logs.clone()
    }

    /// The kubelets of the lab's nodes, if they are enabled.
    pub fn kubelet(&self) -> Option<Kubelet> {
        self.kubelet.clone()
    }

    /// Runs the pods of the control plane with processes of this process.
    pub fn set_control_plane(&self, control_plane: Arc<dyn ControlPlane>) {
        if let Some(kubelet) = &self.kubelet {
            kubelet.set_control_plane(control_plane);
        }
    }

    /// Probes the containers of the control plane again.
    pub fn probe_control_plane(&self) {
        if let Some(kubelet) = &self.kubelet {
            kubelet.requeue_pods(CONTROL_PLANE_NODE);
        }
    }

    /// Serves container logs to API servers in other processes, and publishes `host` and the port
    /// in the status of nodes: `host` is the name under which API servers reach this machine.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve_logs(
        &self,
        listen: SocketAddr,
        host: String,
        tls: Arc<rustls::ServerConfig>,
    ) -> std::io::Result<()> {
        let (Some(kubelet), Some(virtual_nodes)) = (&self.kubelet, &self.virtual_nodes) else {
            return Ok(());
        };
        let port = kubelet.serve(listen, tls).await?.port();
        virtual_nodes.set_kubelet(KubeletAddress { host, port });
        Ok(())
    }

    /// Publishes the certificate (PEM) that signs the API server's in every namespace, if
    /// the controller manager runs and namespaces are managed here.
    pub fn set_root_ca(&self, pem: &str) {
        let controllers = self.controller_manager.get();
        if let Some(publisher) = controllers.and_then(|all| all.root_ca_publisher.as_ref()) {
            publisher.set_root_ca(pem);
        }
    }

    /// Simulates a power failure of a node: its heartbeats stop and its pods freeze. False for a
    /// node that is not the lab's.
    pub fn fail_node(&self, name: &str) -> bool {
        self.set_failed(name, true)
    }

    /// Ends the simulated power failure of a node. False for a node that is not the lab's.
    pub fn recover_node(&self, name: &str) -> bool {
        self.set_failed(name, false)
    }

    fn set_failed(&self, name: &str, failed: bool) -> bool {
        let known = self
            .virtual_nodes
            .as_ref()
            .is_some_and(|virtual_nodes| virtual_nodes.set_failed(name, failed));
        if let Some(kubelet) = &self.kubelet
            && known
        {
            kubelet.requeue_pods(name);
        }
        known
    }

    /// Pauses writes to nodes, pods and ProvisioningRequests while another lab leads, or resumes
    /// them.
    pub fn set_paused(&self, paused: bool) {
        // Nodes resume first: kubelets check whether their node has failed.
        if let Some(virtual_nodes) = &self.virtual_nodes {
            virtual_nodes.set_paused(paused);
        }
        if let Some(kubelet) = &self.kubelet {
            kubelet.set_paused(paused);
        }
        if let Some(fake_gpus) = &self.fake_gpus {
            fake_gpus.set_paused(paused);
        }
        if let Some(autoscaler) = &self.autoscaler {
            autoscaler.set_paused(paused);
        }
    }

    /// Stops all parts and waits for them. Nodes are not removed.
    pub async fn shutdown(&self) {
        self.context.tasks.shutdown().await;
    }
}
