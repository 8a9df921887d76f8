//! The processes of the controller manager's Pods: each starts an instance of the controller.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use kube::api::ListParams;
use parking_lot::Mutex;

use super::controller_instances::{ControllerInstances, InstanceStart};
use super::manager_config::{feature_gates, load_manager_config};
use super::metrics_server::{METRICS_PORT, MetricsServer};
use super::{CONFIG_MAP, CONTAINER, DEPLOYMENT, NAMESPACE, POD_LABEL};
use kueue_lab_api::config::CONFIG_MAP_KEY;
use kueue_lab_container_program::{Program, Step};
use kueue_lab_controller::ControllerConfig;
use kueue_lab_controller_runtime::{Api, Context};
use kueue_lab_kubelet::{ContainerProcess, ControlPlane, PodConnection};

/// The processes of the controller manager's Pods.
pub(crate) struct ManagerControlPlane {
    context: Context,
    shared: Arc<Shared>,
}

/// The state of all processes.
struct Shared {
    instances: ControllerInstances,
    metrics: Arc<MetricsServer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The configuration of the first instance, until a Pod runs it.
    first: Option<String>,
    /// The mounted configuration.
    mounted: Option<String>,
    /// The Pod of the current instance.
    leader: Option<PodTemplate>,
    /// Whether that Pod is still there.
    leader_runs: bool,
}

/// A Pod and the template it is of.
#[derive(Clone, Debug)]
struct PodTemplate {
    name: String,
    uid: String,
    hash: String,
}

impl ManagerControlPlane {
    /// The processes behind `instances`, whose first instance runs with `configuration`.
    pub(crate) fn new(
        context: &Context,
        instances: ControllerInstances,
        configuration: &str,
    ) -> Self {
        let state = State {
            first: Some(configuration.to_owned()),
            ..State::default()
        };
        Self {
            context: context.clone(),
            shared: Arc::new(Shared {
                metrics: Arc::new(MetricsServer::new(context, instances.clone())),
                instances,
                state: Mutex::new(state),
            }),
        }
    }

    /// The configuration in the ConfigMap.
    async fn configuration(&self) -> Option<String> {
        let api: Api<ConfigMap> = Api::namespaced(self.context.client.clone(), NAMESPACE);
        match api.get_opt(CONFIG_MAP).await {
            Ok(found) => found?.data?.remove(CONFIG_MAP_KEY),
            Err(error) => {
                tracing::warn!("cannot read the ConfigMap {CONFIG_MAP}: {error}");
                None
            }
        }
    }

    /// Whether a Pod exists and is not being deleted.
    async fn runs(&self, uid: &str) -> bool {
        let api: Api<Pod> = Api::namespaced(self.context.client.clone(), NAMESPACE);
        let (label, value) = POD_LABEL;
        let params = ListParams::default().labels(&format!("{label}={value}"));
        let Ok(pods) = api.list(&params).await else {
            return false;
        };
        let alive = |pod: &Pod| pod.metadata.deletion_timestamp.is_none();
        pods.iter()
            .any(|pod| pod.uid().as_deref() == Some(uid) && alive(pod))
    }
}

#[async_trait]
impl ControlPlane for ManagerControlPlane {
    async fn mount_volumes(&self, pod: &Pod) {
        if !is_manager_pod(pod) {
            return;
        }
        let leader = self.shared.state.lock().leader.clone();
        let leader_runs = match leader {
            Some(leader) => self.runs(&leader.uid).await,
            None => false,
        };
        let mounted = self.configuration().await;
        let mut state = self.shared.state.lock();
        state.mounted = mounted;
        state.leader_runs = leader_runs;
    }

    fn process(&self, pod: &Pod, container: &str) -> Option<Arc<dyn ContainerProcess>> {
        if !is_manager_pod(pod) || container != CONTAINER {
            return None;
        }
        let spec = pod.spec.as_ref()?;
        let container = spec.containers.iter().find(|c| c.name == CONTAINER)?;
        let words = container.command.iter().chain(&container.args).flatten();
        let label = |name: &str| pod.labels().get(name).cloned().unwrap_or_default();
        Some(Arc::new(ManagerProcess {
            shared: self.shared.clone(),
            pod: PodTemplate {
                name: pod.name_any(),
                uid: pod.uid().unwrap_or_default(),
                hash: label("pod-template-hash"),
            },
            arguments: words.cloned().collect(),
            ready: Arc::default(),
        }))
    }
}

/// Whether a Pod is one of the controller manager's Deployment.
pub(super) fn is_manager_pod(pod: &Pod) -> bool {
    let (label, value) = POD_LABEL;
    let owner = pod
        .owner_references()
        .iter()
        .find(|o| o.kind == "ReplicaSet");
    pod.namespace().as_deref() == Some(NAMESPACE)
        && pod.labels().get(label).is_some_and(|v| v == value)
        && owner.is_some_and(|owner| is_manager_replica_set(&owner.name))
}

/// Whether the key of a Pod (`namespace/name`) is that of one of the controller manager's Deployment.
pub(crate) fn is_manager_pod_key(key: &str) -> bool {
    let name = key
        .strip_prefix(NAMESPACE)
        .and_then(|key| key.strip_prefix('/'));
    let replica_set = name.and_then(|name| name.rsplit_once('-'));
    replica_set.is_some_and(|(replica_set, _)| is_manager_replica_set(replica_set))
}

/// Whether a ReplicaSet is one of the controller manager's Deployment.
pub(super) fn is_manager_replica_set(name: &str) -> bool {
    let hash = name
        .strip_prefix(DEPLOYMENT)
        .and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| !hash.is_empty() && !hash.contains('-'))
}

/// The process of one container.
struct ManagerProcess {
    shared: Arc<Shared>,
    pod: PodTemplate,
    arguments: Vec<String>,
    ready: Arc<AtomicBool>,
}

impl std::fmt::Debug for ManagerProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ManagerProcess").field(&self.pod).finish()
    }
}

impl ContainerProcess for ManagerProcess {
    fn start(&self) -> Program {
        self.ready.store(false, Ordering::SeqCst);
        let mut state = self.shared.state.lock();
        let loaded = load_manager_config(state.mounted.as_deref(), &self.arguments);
        let manager = match loaded {
            Ok(manager) => manager,
            Err(problems) => {
                for problem in &problems {
                    tracing::error!("the controller cannot be restarted: {problem}");
                }
                let lines = problems.into_iter().map(|problem| {
                    Step::Print(format!(
                        "error: unable to load the configuration: {problem}"
                    ))
                });
                return Program::new(lines.chain([Step::Exit(1)]).collect());
            }
        };
        let mut lines = Vec::new();
        let host = self.shared.instances.host_configuration();
        let refused = host.warnings(&manager.config.configuration, &manager.config.gates);
        for warning in manager.warnings.into_iter().chain(refused) {
            tracing::warn!("{warning}");
            lines.push(format!("warning: {warning}"));
        }
        let frameworks = manager.config.configuration.frameworks().join(", ");
        lines.push(format!(
            "info: loaded the configuration: frameworks {frameworks}"
        ));
        lines.push(self.run(&mut state, manager.config).to_owned());
        let lines = lines.into_iter().map(Step::Print);
        Program::new(lines.chain([Step::Hang]).collect())
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::SeqCst)
    }

    fn connect(&self, port: u16, client: Option<IpAddr>) -> Option<PodConnection> {
        (port == METRICS_PORT).then(|| self.shared.metrics.connect(client))?
    }
}

impl ManagerProcess {
    /// Runs the controller; returns a line of output.
    fn run(&self, state: &mut State, config: ControllerConfig) -> &'static str {
        let first = state.first.take();
        let runs_already =
            first.is_some() && first == state.mounted && feature_gates(&self.arguments).is_none();
        let leader = state.leader.as_ref().filter(|_| state.leader_runs);
        if leader.is_some_and(|leader| leader.hash == self.pod.hash && leader.uid != self.pod.uid) {
            self.ready.store(true, Ordering::SeqCst);
            return "info: another replica is the leader";
        }
        state.leader = Some(self.pod.clone());
        let instances = &self.shared.instances;
        let text: Arc<str> = state.mounted.clone().unwrap_or_default().into();
        instances.set_candidate(&self.pod.name, &config);
        if runs_already {
            instances.set_running_configuration(text);
            self.ready.store(true, Ordering::SeqCst);
        } else {
            instances.request_start(InstanceStart {
                config,
                text,
                ready: self.ready.clone(),
            });
        }
        "info: starting the controllers"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replica_sets_are_recognized() {
        assert!(is_manager_replica_set("kueue-controller-manager-5b9c8d7f6"));
        assert!(is_manager_pod_key(
            "kueue-system/kueue-controller-manager-5b9c8d7f6-x2x4z"
        ));
        assert!(!is_manager_pod_key(
            "default/kueue-controller-manager-5b9c8d7f6-x2x4z"
        ));
        assert!(!is_manager_pod_key("kueue-system/job-x2x4z"));
        for other in [
            "kueue-controller-manager",
            "kueue-controller-manager-",
            "kueue-controller-manager-x-5b9c8d7f6",
        ] {
            assert!(!is_manager_replica_set(other), "{other}");
        }
    }
}
