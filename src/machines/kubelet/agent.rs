//! Runs the pods of the lab's nodes: follows them through the watch, lets their runs advance when
//! something is due, and writes what comes of it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use parking_lot::Mutex;

use super::addresses::Addresses;
use super::container::{Phase, Role};
use super::library::Library;
use super::logs::LogStore;
use super::render;
use super::run::{Happening, PodRun};
use super::serve::serve;
use crate::nodes::is_managed;
use crate::recorder::{Note, Recorder, reference};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey, Outcome, WorkQueue};

/// How many pods are written at a time.
const WORKERS: usize = 16;

/// How the kubelets behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KubeletOptions {
    /// How long a pod's network and image take to be there, at least.
    pub startup: Duration,
    /// How much longer it may take, by chance.
    pub jitter: Duration,
    /// Whose nodes' pods run.
    pub nodes: WhoseNodes,
}

/// Nodes by who made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhoseNodes {
    /// Those the lab made; the others have kubelets of their own.
    Own,
    /// All, where there is nobody else.
    All,
    /// Those the lab did not make: what real kubelets would do in a cluster that has none.
    Others,
}

impl WhoseNodes {
    /// Whether a node is among them.
    pub fn has(self, node: &Node) -> bool {
        match self {
            Self::Own => is_managed(node),
            Self::All => true,
            Self::Others => !is_managed(node),
        }
    }
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self {
            startup: Duration::from_millis(300),
            jitter: Duration::from_millis(300),
            nodes: WhoseNodes::Own,
        }
    }
}

/// Tells whether a node was made to fail.
pub type HasFailed = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The kubelets of all the lab's nodes. Clones share everything.
#[derive(Clone)]
pub struct Kubelet {
    shared: Arc<Shared>,
}

struct Shared {
    context: Context,
    options: KubeletOptions,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    has_failed: HasFailed,
    queue: WorkQueue<ObjectKey>,
    runs: Mutex<HashMap<ObjectKey, PodRun>>,
    /// Whether somebody else runs the pods at the moment.
    idle: AtomicBool,
    addresses: Mutex<Addresses>,
    logs: LogStore,
    recorder: Recorder,
}

impl Kubelet {
    /// Starts to run pods; `pods` must have an index `node`.
    pub fn start(
        context: &Context,
        options: KubeletOptions,
        pods: &Informer<Pod>,
        nodes: &Informer<Node>,
        has_failed: HasFailed,
    ) -> Self {
        let kubelet = Self {
            shared: Arc::new(Shared {
                context: context.clone(),
                options,
                pods: pods.clone(),
                nodes: nodes.clone(),
                has_failed,
                queue: WorkQueue::new(context),
                runs: Mutex::default(),
                idle: AtomicBool::new(false),
                addresses: Mutex::default(),
                logs: LogStore::new(context.clock.clone()),
                recorder: Recorder::new(context, "kubelet"),
            }),
        };
        let queue = kubelet.shared.queue.clone();
        let logs = kubelet.shared.logs.clone();
        pods.subscribe(move |change| {
            let pod = change.object();
            if let Change::Deleted(pod) = change {
                logs.forget(pod.metadata.uid.as_deref().unwrap_or_default());
            }
            if node_of(pod).is_some() {
                queue.add(ObjectKey::of(&**pod));
            }
        });
        // Pods may be seen before their node is.
        let waker = kubelet.clone();
        nodes.subscribe(move |change| {
            if let Change::Added(node) = change {
                waker.wake(&node.name_any());
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

    /// The logs of the containers.
    pub fn logs(&self) -> LogStore {
        self.shared.logs.clone()
    }

    /// Answers API servers in other processes that ask for logs. Gives the address, with the port that
    /// was taken.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve(
        &self,
        listen: SocketAddr,
        tls: Arc<rustls::ServerConfig>,
    ) -> std::io::Result<SocketAddr> {
        let library = Library {
            pods: self.shared.pods.clone(),
            nodes: self.shared.nodes.clone(),
            whose: self.shared.options.nodes,
            logs: self.logs(),
            clock: self.shared.context.clock.clone(),
        };
        serve(&self.shared.context.tasks, listen, tls, Arc::new(library)).await
    }

    /// Leaves all pods to somebody else, or takes them up again as they are then.
    pub fn set_idle(&self, idle: bool) {
        if self.shared.idle.swap(idle, Ordering::SeqCst) == idle {
            return;
        }
        if idle {
            let runs = std::mem::take(&mut *self.shared.runs.lock());
            runs.values().for_each(|run| self.shared.give_back(run));
            return;
        }
        for pod in self.shared.pods.list() {
            if node_of(&pod).is_some() {
                self.shared.queue.add(ObjectKey::of(&*pod));
            }
        }
    }

    /// Looks at all pods of a node again, after it failed or came back.
    pub fn wake(&self, node: &str) {
        for pod in self.shared.pods.by("node", node) {
            self.shared.queue.add(ObjectKey::of(&*pod));
        }
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref();
    node.filter(|n| !n.is_empty())
}

fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|s| s.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

impl Shared {
    async fn reconcile(&self, key: ObjectKey) -> kube::Result<Outcome> {
        let Some(pod) = self.pods.get(&key) else {
            self.forget(&key);
            return Ok(Outcome::Done);
        };
        let Some(node) = node_of(&pod).and_then(|n| self.nodes.get(&ObjectKey::cluster(n))) else {
            return Ok(Outcome::Done);
        };
        let ours = self.options.nodes.has(&node) && !self.idle.load(Ordering::SeqCst);
        if !ours || (self.has_failed)(&node.name_any()) {
            return Ok(Outcome::Done);
        }
        if is_over(&pod) {
            self.close(&key);
            return self.let_go(&pod).await;
        }
        let now = self.context.clock.now();
        let (patch, next, ended) = {
            let mut runs = self.runs.lock();
            let run = self.run_of(&mut runs, &key, &pod, &node, now);
            let happened = run.advance(&pod, now);
            self.tell(&pod, &node, run, &happened);
            let host = host_ip(&node);
            let patch = render::patch(&pod, run, host, now);
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
                    self.pods.observe(pod.clone());
                    if ended {
                        self.close(&key);
                        return self.let_go(&pod).await;
                    }
                }
                // The pod is gone, another one, or has changed: the watch brings it again.
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Outcome::Done),
                Err(error) => return Err(error),
            }
        }
        Ok(match next {
            Some(at) => {
                let left = at.duration_since(self.context.clock.now());
                Outcome::After(Duration::try_from(left).unwrap_or(Duration::from_millis(1)))
            }
            None => Outcome::Done,
        })
    }

    /// The run of a pod; a new one for a pod that was not seen before, or not this one.
    fn run_of<'a>(
        &self,
        runs: &'a mut HashMap<ObjectKey, PodRun>,
        key: &ObjectKey,
        pod: &Pod,
        node: &Node,
        now: Timestamp,
    ) -> &'a mut PodRun {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        if runs.get(key).is_some_and(|run| run.uid != uid)
            && let Some(old) = runs.remove(key)
        {
            self.give_back(&old);
        }
        runs.entry(key.clone()).or_insert_with(|| {
            let cidr = node.spec.as_ref().and_then(|s| s.pod_cidr.clone());
            let cidr = cidr.unwrap_or_else(|| self.addresses.lock().range_of(&node.name_any()));
            let known = pod.status.as_ref().is_some_and(|s| s.start_time.is_some());
            let mut run = if known {
                PodRun::resume(pod, now)
            } else {
                let jitter = self.options.jitter.mul_f64(self.context.entropy.unit());
                PodRun::new(pod, now, self.options.startup + jitter)
            };
            let host = pod.spec.as_ref().and_then(|s| s.host_network) == Some(true);
            if host {
                run.ip = host_ip(node).to_string();
            } else {
                let mut addresses = self.addresses.lock();
                if run.ip.is_empty() {
                    run.ip = addresses.take(&cidr);
                } else {
                    addresses.keep(&cidr, &run.ip);
                }
                run.cidr = cidr;
            }
            for container in &run.containers {
                if let Phase::Running { since, .. } = container.phase {
                    let program = container.program.clone();
                    self.logs.started(uid, &container.name, program, since);
                }
            }
            run
        })
    }

    /// Reports what happened, and notes it for the logs.
    fn tell(&self, pod: &Pod, node: &Node, run: &PodRun, happened: &[Happening]) {
        for happening in happened {
            match *happening {
                Happening::Started(index) => {
                    let container = &run.containers[index];
                    let since = match &container.phase {
                        Phase::Running { since, .. } => *since,
                        Phase::Ended(ended) => ended.started,
                        _ => run.started,
                    };
                    let program = container.program.clone();
                    self.logs.started(&run.uid, &container.name, program, since);
                    let image = &container.image;
                    let pulled = format!(
                        "Container image \"{image}\" already present on machine and can be accessed by the pod"
                    );
                    self.report(pod, node, run, index, "Pulled", pulled);
                    self.report(pod, node, run, index, "Created", "Container created".into());
                    self.report(pod, node, run, index, "Started", "Container started".into());
                }
                Happening::Killing(index) => {
                    let text = format!("Stopping container {}", run.containers[index].name);
                    self.report(pod, node, run, index, "Killing", text);
                }
                Happening::BackOff(index) => {
                    let text = format!(
                        "Back-off restarting failed container {} in pod {}_{}({})",
                        run.containers[index].name,
                        pod.name_any(),
                        pod.namespace().unwrap_or_default(),
                        run.uid
                    );
                    self.report(pod, node, run, index, "BackOff", text);
                }
                Happening::DeadlineExceeded => self.note(
                    pod,
                    node,
                    None,
                    "DeadlineExceeded",
                    "Pod was active on the node longer than the specified deadline".into(),
                ),
            }
        }
        for container in &run.containers {
            let ended = match &container.phase {
                Phase::Ended(ended) => Some(ended.finished),
                Phase::BackOff(_) => container.last.as_ref().map(|e| e.finished),
                _ => None,
            };
            if let Some(at) = ended {
                self.logs.ended(&run.uid, &container.name, at);
            }
        }
    }

    fn report(
        &self,
        pod: &Pod,
        node: &Node,
        run: &PodRun,
        index: usize,
        reason: &'static str,
        message: String,
    ) {
        let container = &run.containers[index];
        let list = if container.role == Role::Main {
            "containers"
        } else {
            "initContainers"
        };
        let path = format!("spec.{list}{{{}}}", container.name);
        self.note(pod, node, Some(path), reason, message);
    }

    fn note(
        &self,
        pod: &Pod,
        node: &Node,
        path: Option<String>,
        reason: &'static str,
        message: String,
    ) {
        let mut about = reference(pod);
        about.field_path = path;
        let note = match reason {
            "BackOff" => Note::warning(reason, message),
            _ => Note::normal(reason, message),
        };
        let recorder = self.recorder.of("kubelet", Some(&node.name_any()));
        recorder.note_at(about, note);
    }

    /// Removes a pod that has ended and is being deleted; others stay for people to look at.
    async fn let_go(&self, pod: &Pod) -> kube::Result<Outcome> {
        let going = pod.metadata.deletion_timestamp.is_some();
        if !going || pod.metadata.deletion_grace_period_seconds == Some(0) {
            return Ok(Outcome::Done);
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
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Outcome::Done),
            other => other.map(|_| Outcome::Done),
        }
    }

    /// A pod has ended: its containers run no more, though its logs stay.
    fn close(&self, key: &ObjectKey) {
        let Some(run) = self.runs.lock().remove(key) else {
            return;
        };
        let now = self.context.clock.now();
        for container in &run.containers {
            self.logs.ended(&run.uid, &container.name, now);
        }
        self.give_back(&run);
    }

    /// A pod is gone.
    fn forget(&self, key: &ObjectKey) {
        if let Some(run) = self.runs.lock().remove(key) {
            self.give_back(&run);
        }
    }

    fn give_back(&self, run: &PodRun) {
        if !run.cidr.is_empty() {
            self.addresses.lock().give_back(&run.cidr, &run.ip);
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
