//! Runs the pods of the lab's nodes: advances each simulated pod when it is due and writes its
//! status and Events.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use parking_lot::Mutex;

use super::authorization::SubjectAccessReviews;
use super::container_runtime::{Container, ContainerRuntime};
use super::control_plane::{ControlPlane, control_plane_node};
use super::kubelet_options::KubeletOptions;
use super::logs::LogStore;
use super::long_scripts::has_long_script;
use super::pod_ip_allocator::PodIpAllocator;
use super::pod_log_source::PodLogSource;
use super::pod_status;
use super::running_instance::RunningInstance;
use super::server::serve;
use super::simulated_container::ContainerPhase;
use super::simulated_pod::SimulatedPod;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};
use kueue_lab_controller_utils::control_plane_node::CONTROL_PLANE_NODE;
use kueue_lab_controller_utils::event_recorder::EventRecorder;
use kueue_lab_controller_utils::pods::{is_terminal, node_of};
use kueue_lab_controller_utils::resource_claims;
use kueue_lab_host::HostAddresses;
use kueue_lab_nodes::has_stopped_kubelet;
use kueue_lab_streaming::remote_command::StartError;

/// How many pods are reconciled concurrently.
const WORKERS: usize = 16;

/// Whether a power failure of a node is simulated.
pub(super) type NodeFailureCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The kubelets of all the lab's nodes. Clones share everything.
#[derive(Clone)]
pub struct Kubelet {
    shared: Arc<Shared>,
}

/// A reference that does not keep the kubelet.
#[derive(Clone)]
pub struct WeakKubelet {
    shared: Weak<Shared>,
}

impl WeakKubelet {
    /// The kubelet; `None` after the end of the lab.
    pub fn upgrade(&self) -> Option<Kubelet> {
        let shared = self.shared.upgrade()?;
        Some(Kubelet { shared })
    }
}

pub(super) struct Shared {
    pub(super) context: Context,
    options: KubeletOptions,
    pub(super) pods: Informer<Pod>,
    nodes: Informer<Node>,
    pub(super) claims: Option<Informer<ResourceClaim>>,
    has_failed: NodeFailureCheck,
    pub(super) queue: WorkQueue<ObjectKey>,
    pub(super) simulated_pods: Mutex<HashMap<ObjectKey, SimulatedPod>>,
    /// The control plane of this process, with its node.
    control_plane: OnceLock<(Arc<dyn ControlPlane>, Arc<Node>)>,
    /// The addresses of this machine that may be connected to.
    host_addresses: OnceLock<HostAddresses>,
    /// Whether pods are paused.
    paused: AtomicBool,
    pod_ips: Mutex<PodIpAllocator>,
    pub(super) logs: LogStore,
    pub(super) runtime: Arc<dyn ContainerRuntime>,
    pub(super) recorder: EventRecorder,
}

impl Kubelet {
    /// Starts the kubelets; `pods` must have an index `node`. With `claims`, pods start when theirs
    /// are reserved for them.
    pub fn start(
        context: &Context,
        options: KubeletOptions,
        pods: &Informer<Pod>,
        nodes: &Informer<Node>,
        claims: Option<Informer<ResourceClaim>>,
        has_failed: NodeFailureCheck,
        runtime: Arc<dyn ContainerRuntime>,
    ) -> Self {
        let kubelet = Self {
            shared: Arc::new(Shared {
                context: context.clone(),
                options,
                pods: pods.clone(),
                nodes: nodes.clone(),
                claims,
                has_failed,
                queue: WorkQueue::new(context),
                simulated_pods: Mutex::default(),
                control_plane: OnceLock::new(),
                host_addresses: OnceLock::new(),
                paused: AtomicBool::new(false),
                pod_ips: Mutex::default(),
                logs: LogStore::new(context.clock.clone()),
                runtime,
                recorder: EventRecorder::new(context, "kubelet"),
            }),
        };
        let queue = kubelet.shared.queue.clone();
        let logs = kubelet.shared.logs.clone();
        let shared = Arc::downgrade(&kubelet.shared);
        pods.add_event_handler(move |change| {
            let pod = change.object();
            if let Some(shared) = shared.upgrade() {
                shared.runtime.pod_changed(pod, shared.context.clock.now());
            }
            if let Change::Deleted(pod) = change {
                logs.forget(pod.metadata.uid.as_deref().unwrap_or_default());
            }
            if node_of(pod).is_some() {
                queue.add(ObjectKey::of(&**pod));
            }
        });
        if let Some(claims) = &kubelet.shared.claims {
            let queue = kubelet.shared.queue.clone();
            claims.add_event_handler(move |change| {
                let claim = change.object();
                let namespace = claim.namespace().unwrap_or_default();
                for consumer in resource_claims::reserved_for(claim) {
                    queue.add(ObjectKey::new(&*namespace, &*consumer.name));
                }
            });
        }
        // Pods may be delivered before their node.
        let waker = kubelet.clone();
        nodes.add_event_handler(move |change| {
            let is_due = match change {
                Change::Added(_) => true,
                Change::Updated { old, new } => {
                    has_stopped_kubelet(old) != has_stopped_kubelet(new)
                }
                Change::Deleted(_) => false,
            };
            if is_due {
                waker.requeue_pods(&change.object().name_any());
            }
        });
        let worker = kubelet.clone();
        kubelet
            .shared
            .queue
            .run(context, "kubelet", WORKERS, move |key| {
                let worker = worker.clone();
                async move { worker.shared.reconcile(key).await }
            });
        kubelet
    }

    /// Runs the pods on [`CONTROL_PLANE_NODE`] with the processes of `control_plane`. Has an effect
    /// once.
    pub fn set_control_plane(&self, control_plane: Arc<dyn ControlPlane>) {
        let node = Arc::new(control_plane_node());
        if self.shared.control_plane.set((control_plane, node)).is_ok() {
            self.requeue_pods(CONTROL_PLANE_NODE);
        }
    }

    /// Sets the addresses of this machine that may be connected to; none before. Has an effect once.
    pub fn set_host_addresses(&self, addresses: HostAddresses) {
        self.shared.host_addresses.get_or_init(|| addresses);
    }

    /// The addresses of this machine that may be connected to.
    pub(super) fn host_addresses(&self) -> HostAddresses {
        self.shared
            .host_addresses
            .get()
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// A reference that does not keep the kubelet.
    pub fn downgrade(&self) -> WeakKubelet {
        WeakKubelet {
            shared: Arc::downgrade(&self.shared),
        }
    }

    /// The client, the clock and the randomness of the kubelet.
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// All pods.
    pub fn pods(&self) -> &Informer<Pod> {
        &self.shared.pods
    }

    /// The node with this name.
    pub fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.shared.node(name)
    }

    /// A container that runs; `None` if it does not.
    pub fn running_instance(
        &self,
        key: &ObjectKey,
        uid: &str,
        container: &str,
    ) -> Option<RunningInstance> {
        self.shared.running_instance(key, uid, container)
    }

    /// Ends a container at `at` with an exit code, as if its program had exited.
    pub fn terminate_container(
        &self,
        key: &ObjectKey,
        uid: &str,
        container: &str,
        at: Timestamp,
        code: i32,
    ) {
        self.shared
            .terminate_container(key, uid, container, at, code);
    }

    /// The container of an instance, for commands.
    ///
    /// # Errors
    /// Commands cannot be executed in it.
    pub(super) async fn container(
        &self,
        instance: &RunningInstance,
    ) -> Result<Arc<dyn Container>, StartError> {
        self.shared.runtime.container(self, instance).await
    }

    /// The logs of the containers.
    pub fn logs(&self) -> LogStore {
        self.shared.logs.clone()
    }

    /// Serves logs to API servers in other processes, whose client certificates `tls` verifies. Returns
    /// the bound address.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve(
        &self,
        listen: SocketAddr,
        tls: Arc<rustls::ServerConfig>,
    ) -> std::io::Result<SocketAddr> {
        let library = PodLogSource {
            pods: self.shared.pods.clone(),
            nodes: self.shared.nodes.clone(),
            node_scope: self.shared.options.nodes,
            logs: self.logs(),
            clock: self.shared.context.clock.clone(),
            runtime: self.shared.runtime.clone(),
        };
        let client = self.shared.context.client.clone();
        let authorizer = Arc::new(SubjectAccessReviews { client });
        let tasks = &self.shared.context.tasks;
        serve(tasks, listen, tls, Arc::new(library), authorizer).await
    }

    /// Pauses all pods, or resumes them from their current status.
    pub fn set_paused(&self, paused: bool) {
        if self.shared.paused.swap(paused, Ordering::SeqCst) == paused {
            return;
        }
        if paused {
            let runs = std::mem::take(&mut *self.shared.simulated_pods.lock());
            runs.values().for_each(|run| self.shared.release_ip(run));
            return;
        }
        for pod in self.shared.pods.list() {
            if node_of(&pod).is_some() {
                self.shared.queue.add(ObjectKey::of(&*pod));
            }
        }
    }

    /// Requeues all pods of a node, after it failed or recovered.
    pub fn requeue_pods(&self, node: &str) {
        for pod in self.shared.pods.by_index("node", node) {
            self.shared.queue.add(ObjectKey::of(&*pod));
        }
    }
}

impl Shared {
    async fn reconcile(&self, key: ObjectKey) -> kube::Result<ReconcileResult> {
        let Some(pod) = self.pods.get(&key) else {
            self.forget_pod(&key);
            return Ok(ReconcileResult::Done);
        };
        let Some(node) = node_of(&pod).and_then(|n| self.node(n)) else {
            return Ok(ReconcileResult::Done);
        };
        if self.paused.load(Ordering::SeqCst) || !self.runs_kubelet(&node) {
            return Ok(ReconcileResult::Done);
        }
        if is_terminal(&pod) {
            self.finish_pod(&key);
            return self.delete_terminated(&pod).await;
        }
        let control_plane = self.control_plane(&node.name_any());
        if let Some(control_plane) = control_plane {
            control_plane.mount_volumes(&pod).await;
        }
        if !self.resources_are_prepared(&key, &pod, &node) {
            return Ok(ReconcileResult::Done);
        }
        let now = self.context.clock.now();
        let prepared = self.prepared_pod(&key, &pod, now);
        let (patch, next, ended) = {
            let mut runs = self.simulated_pods.lock();
            let run = self.simulated_pod(&mut runs, &key, &pod, &node, prepared);
            let events = run.advance(&pod, now);
            self.record_lifecycle_events(&pod, &node, run, &events);
            let host = host_ip(&node);
            let patch = pod_status::status_patch(&pod, run, host, now);
            (patch, run.next(&pod, now), run.has_ended(&pod))
        };
        if let Some(patch) = patch {
            let api: Api<Pod> = Api::namespaced(self.context.client.clone(), &key.namespace);
            let params = PatchParams::default();
            match api
                .patch_status(&key.name, &params, &Patch::Strategic(&patch))
                .await
            {
                Ok(pod) => {
                    let pod = Arc::new(pod);
                    self.pods.observe_write(pod.clone());
                    if ended {
                        self.finish_pod(&key);
                        return self.delete_terminated(&pod).await;
                    }
                }
                // The pod was deleted, replaced or changed: the watch delivers it again.
                Err(error) if is_not_found(&error) => {
                    return Ok(ReconcileResult::Done);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(match next {
            Some(at) => {
                let remaining = at.duration_since(self.context.clock.now());
                ReconcileResult::RequeueAfter(
                    Duration::try_from(remaining).unwrap_or(Duration::from_millis(1)),
                )
            }
            None => ReconcileResult::Done,
        })
    }

    /// The control plane, if the node is its node.
    fn control_plane(&self, node: &str) -> Option<&Arc<dyn ControlPlane>> {
        let control_plane = self
            .control_plane
            .get()
            .filter(|_| node == CONTROL_PLANE_NODE);
        control_plane.map(|(control_plane, _)| control_plane)
    }

    /// Whether the kubelet of a node runs here.
    pub(super) fn runs_kubelet(&self, node: &Node) -> bool {
        self.options.nodes.contains(node) && !(self.has_failed)(&node.name_any())
    }

    /// The node with this name.
    pub(super) fn node(&self, name: &str) -> Option<Arc<Node>> {
        match self.control_plane.get() {
            Some((_, node)) if name == CONTROL_PLANE_NODE => Some(node.clone()),
            _ => self.nodes.get(&ObjectKey::cluster(name)),
        }
    }

    /// The state of a new pod or of a new UID, with the programs of its containers; `None` if it is
    /// known. The programs are derived without holding a lock.
    fn prepared_pod(&self, key: &ObjectKey, pod: &Pod, now: Timestamp) -> Option<SimulatedPod> {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let known = self
            .simulated_pods
            .lock()
            .get(key)
            .map(|run| run.uid == uid);
        if known == Some(true) {
            return None;
        }
        let has_started = pod.status.as_ref().is_some_and(|s| s.start_time.is_some());
        let jitter = match has_started {
            true => Duration::ZERO,
            false => self.options.jitter.mul_f64(self.context.entropy.unit()),
        };
        let startup = self.options.startup + jitter;
        let create = || match has_started {
            true => SimulatedPod::from_status(&self.runtime, pod, now),
            false => SimulatedPod::new(&self.runtime, pod, now, startup),
        };
        Some(match has_long_script(pod) {
            true => kueue_lab_blocking::compute(create),
            false => create(),
        })
    }

    /// The simulated state of a pod; `prepared` for a new pod or a new UID.
    fn simulated_pod<'a>(
        &self,
        runs: &'a mut HashMap<ObjectKey, SimulatedPod>,
        key: &ObjectKey,
        pod: &Pod,
        node: &Node,
        prepared: Option<SimulatedPod>,
    ) -> &'a mut SimulatedPod {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        if runs.get(key).is_some_and(|run| run.uid != uid)
            && let Some(old) = runs.remove(key)
        {
            self.release_ip(&old);
        }
        runs.entry(key.clone()).or_insert_with(|| {
            let cidr = node.spec.as_ref().and_then(|s| s.pod_cidr.clone());
            let cidr = cidr.unwrap_or_else(|| self.pod_ips.lock().node_cidr(&node.name_any()));
            // Only another worker of the same pod could have removed it since.
            let mut run = prepared.unwrap_or_else(|| {
                SimulatedPod::new(
                    &self.runtime,
                    pod,
                    self.context.clock.now(),
                    self.options.startup,
                )
            });
            if let Some(control_plane) = self.control_plane(&node.name_any()) {
                for container in &mut run.containers {
                    container.process = control_plane.process(pod, &container.name);
                    container.restart_lost_process(self.context.clock.now());
                }
            }
            let host = pod.spec.as_ref().and_then(|s| s.host_network) == Some(true);
            if host {
                run.ip = host_ip(node).to_string();
            } else {
                let mut addresses = self.pod_ips.lock();
                if run.ip.is_empty() {
                    run.ip = addresses.allocate(&cidr);
                } else {
                    addresses.reserve(&cidr, &run.ip);
                }
                run.cidr = cidr;
            }
            for container in &run.containers {
                if let ContainerPhase::Running { since, .. } = container.phase {
                    let program = container.program.clone();
                    self.logs
                        .container_started(uid, &container.name, program, since);
                }
            }
            run
        })
    }

    /// Deletes a terminal pod that has a deletion timestamp; others are kept.
    async fn delete_terminated(&self, pod: &Pod) -> kube::Result<ReconcileResult> {
        let terminating = pod.metadata.deletion_timestamp.is_some();
        if !terminating || pod.metadata.deletion_grace_period_seconds == Some(0) {
            return Ok(ReconcileResult::Done);
        }
        let api: Api<Pod> = Api::namespaced(
            self.context.client.clone(),
            &pod.namespace().unwrap_or_default(),
        );
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default().grace_period(0)
        };
        match api.delete(&pod.name_any(), &params).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                Ok(ReconcileResult::Done)
            }
            other => other.map(|_| ReconcileResult::Done),
        }
    }

    /// Releases the resources of a terminal pod; its logs are kept.
    fn finish_pod(&self, key: &ObjectKey) {
        let Some(run) = self.simulated_pods.lock().remove(key) else {
            return;
        };
        let now = self.context.clock.now();
        for container in &run.containers {
            self.logs
                .container_terminated(&run.uid, &container.name, now);
        }
        self.runtime.remove_pod(&run.uid);
        self.release_ip(&run);
    }

    /// Releases the resources of a deleted pod.
    fn forget_pod(&self, key: &ObjectKey) {
        if let Some(run) = self.simulated_pods.lock().remove(key) {
            self.runtime.remove_pod(&run.uid);
            self.release_ip(&run);
        }
    }

    fn release_ip(&self, run: &SimulatedPod) {
        if !run.cidr.is_empty() {
            self.pod_ips.lock().release(&run.cidr, &run.ip);
        }
    }
}

fn host_ip(node: &Node) -> &str {
    let addresses = node.status.as_ref().and_then(|s| s.addresses.as_ref());
    let internal = addresses
        .into_iter()
        .flatten()
        .find(|a| a.type_ == "InternalIP");
    internal.map_or("", |a| &a.address)
}
