//! [`PodLogSource`]: resolves a kubelet log request to a container's log.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::LogParams;

use super::container_runtime::ContainerRuntime;
use super::kubelet_options::NodeScope;
use super::logs::{LogError, LogQuery, LogStore};
use super::server::{ContainerLogError, ContainerLogRequest, LogSource};
use super::simulated_container::ContainerPhase;
use super::simulated_pod::SimulatedPod;
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::{Informer, ObjectKey};
use kueue_lab_controller_utils::pods::node_of;

/// The logs of the pods on the lab's nodes.
pub(super) struct PodLogSource {
    pub(super) pods: Informer<Pod>,
    pub(super) nodes: Informer<Node>,
    pub(super) node_scope: NodeScope,
    pub(super) logs: LogStore,
    pub(super) clock: Clock,
    pub(super) runtime: Arc<dyn ContainerRuntime>,
}

impl PodLogSource {
    /// Whether a pod is on a node of this kubelet.
    fn serves_pod(&self, pod: &Pod) -> bool {
        let node = node_of(pod).and_then(|name| self.nodes.get(&ObjectKey::cluster(name)));
        node.is_some_and(|node| self.node_scope.contains(&node))
    }

    /// Restores the instances of a container from the pod's status, after a restart of this
    /// process.
    fn restore_from_status(&self, pod: &Pod, container: &str) {
        let run = SimulatedPod::from_status(&self.runtime, pod, self.clock.now());
        let Some(container) = run.containers.iter().find(|c| c.name == container) else {
            return;
        };
        let present = match &container.phase {
            ContainerPhase::Terminated(ended) => Some(ended),
            _ => None,
        };
        for ended in container.last_termination.iter().chain(present) {
            let program = container.program.clone();
            self.logs
                .container_started(&run.uid, &container.name, program, ended.started);
            self.logs
                .container_terminated(&run.uid, &container.name, ended.finished);
        }
    }

    fn query(&self, uid: String, container: &str, options: &LogParams) -> LogQuery {
        let ago = options.since_time.map(|time| {
            let ago = self.clock.now().duration_since(time);
            // `sinceTime` is inclusive.
            ago.as_secs().saturating_add(1).max(0)
        });
        LogQuery {
            uid,
            container: container.to_owned(),
            options: LogParams {
                since_seconds: options.since_seconds.or(ago),
                since_time: None,
                ..options.clone()
            },
        }
    }
}

fn has_container(pod: &Pod, name: &str) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let inits = spec.init_containers.iter().flatten();
    let mut names = spec.containers.iter().chain(inits).map(|c| &c.name);
    names.any(|known| known == name)
}

impl LogSource for PodLogSource {
    fn log(
        &self,
        wanted: ContainerLogRequest<'_>,
    ) -> Result<BoxStream<'static, Bytes>, ContainerLogError> {
        let ContainerLogRequest {
            namespace,
            pod: name,
            container,
            options,
        } = wanted;
        let pod = self.pods.get(&ObjectKey::new(namespace, name));
        let Some(pod) = pod.filter(|pod| self.serves_pod(pod)) else {
            let why = format!("pod {name:?} does not exist on this node");
            return Err(ContainerLogError::NotFound(why));
        };
        if !has_container(&pod, container) {
            let why = format!("container {container:?} not found in pod {name:?}");
            return Err(ContainerLogError::NotFound(why));
        }
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let query = self.query(uid, container, options);
        let log = match self.logs.read(&query) {
            Err(LogError::NotStarted) => {
                self.restore_from_status(&pod, container);
                self.logs.read(&query)
            }
            log => log,
        };
        log.map_err(|error| {
            ContainerLogError::Unavailable(match error {
                LogError::NotStarted => format!(
                    "container {container:?} in pod {name:?} is waiting to start: ContainerCreating"
                ),
                LogError::NoPrevious => {
                    format!("previous terminated container {container:?} in pod {name:?} not found")
                }
            })
        })
    }
}
