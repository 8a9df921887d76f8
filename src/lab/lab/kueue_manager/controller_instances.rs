//! Instances of the controller: a new one replaces the current one, each with its own tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::current_controller::{CurrentController, CurrentGates};
use super::leader_election::{self, Candidate, ReservedLease};
use kueue_lab_api::config::LeaderElectionConfiguration;
use kueue_lab_controller::{Controller, ControllerConfig, HostConfiguration, WebhooksOnlyInstance};
use kueue_lab_controller_runtime::Context;
use kueue_lab_machines::Machines;
use kueue_lab_metrics::{Metrics, ReplicaRole};

/// The instances of the controller. Clones share them.
#[derive(Clone)]
pub(crate) struct ControllerInstances {
    current: CurrentController,
    gates: CurrentGates,
    /// What the configurations of the user allow, for all instances.
    host: HostConfiguration,
    metrics: Metrics,
    requests: mpsc::UnboundedSender<InstanceRequest>,
    /// The text of the configuration of the current instance, if it is from the ConfigMap.
    running: watch::Sender<Option<Arc<str>>>,
    /// The Pod that takes part in leader election.
    candidate: watch::Sender<Option<Candidate>>,
    /// The leadership of the first Pod, before it runs.
    reserved: ReservedLease,
    /// The contexts of the running instances: more than one only during a restart.
    contexts: Arc<Mutex<Vec<Context>>>,
}

/// A request to the task that runs the instances.
enum InstanceRequest {
    Start(Box<InstanceStart>),
    Stop,
    Restart,
}

/// The start of an instance.
pub(super) struct InstanceStart {
    /// Its configuration.
    pub(super) config: ControllerConfig,
    /// The text of the configuration.
    pub(super) text: Arc<str>,
    /// Set when it is the current instance.
    pub(super) ready: Arc<AtomicBool>,
}

impl ControllerInstances {
    /// Starts the first instance. With `elects` its Pod takes part in leader election.
    pub(crate) async fn start(
        context: &Context,
        config: ControllerConfig,
        gates: CurrentGates,
        machines: &Arc<Machines>,
        elects: bool,
    ) -> Self {
        let first = child(context);
        let (requests, received) = mpsc::unbounded_channel();
        let (candidate, candidates) = watch::channel(None);
        let metrics = Metrics::new(ReplicaRole::Leader);
        let follower = WebhooksOnlyInstance::start(&first, config.clone()).await;
        let instances = Self {
            current: CurrentController::new(become_leader(follower, &metrics)),
            gates,
            host: config.host.clone(),
            metrics,
            requests,
            running: watch::Sender::new(None),
            candidate,
            reserved: ReservedLease::default(),
            contexts: Arc::new(Mutex::new(vec![first])),
        };
        let (this, lab, machines) = (instances.clone(), context.clone(), machines.clone());
        context.tasks.spawn("controller-instances", async move {
            this.run(&lab, &machines, config, received).await;
        });
        if elects {
            let reserved = instances.reserved.clone();
            let election =
                leader_election::run(context.clone(), instances.clone(), reserved, candidates);
            context.tasks.spawn("leader-election", election);
        }
        instances
    }

    /// The current instance.
    pub(crate) fn current(&self) -> &CurrentController {
        &self.current
    }

    /// What the configurations of the user allow.
    pub(super) fn host_configuration(&self) -> &HostConfiguration {
        &self.host
    }

    /// The metrics of all instances.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The text of the configuration of the current instance; `None` until a Pod runs one.
    pub(super) fn running_configuration(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.running.subscribe()
    }

    /// Records that the first instance runs with this configuration.
    pub(super) fn set_running_configuration(&self, text: Arc<str>) {
        self.running.send_replace(Some(text));
    }

    /// Requests a new instance.
    pub(super) fn request_start(&self, start: InstanceStart) {
        self.request(InstanceRequest::Start(Box::new(start)));
    }

    /// Requests that the controllers of the current instance stop.
    pub(super) fn request_stop(&self) {
        self.request(InstanceRequest::Stop);
    }

    /// Requests a new instance with the configuration of the last one.
    pub(super) fn request_restart(&self) {
        self.request(InstanceRequest::Restart);
    }

    fn request(&self, request: InstanceRequest) {
        // The receiver ends with the lab.
        let _ = self.requests.send(request);
    }

    /// Acquires the Lease for the first Pod, which does not run yet.
    pub(crate) async fn reserve_lease(
        &self,
        context: &Context,
        election: LeaderElectionConfiguration,
    ) {
        let reserved = leader_election::reserve(context, election).await;
        *self.reserved.lock() = reserved;
    }

    /// Sets the Pod that takes part in leader election.
    pub(super) fn set_candidate(&self, pod: &str, config: &ControllerConfig) {
        let election = config.configuration.leader_election.clone();
        self.candidate.send_replace(Some(Candidate {
            pod: pod.to_owned(),
            election: election.unwrap_or_default(),
        }));
    }

    /// Stops all instances.
    pub(crate) async fn shutdown(&self) {
        let contexts = std::mem::take(&mut *self.contexts.lock());
        for context in contexts {
            context.tasks.shutdown().await;
        }
    }

    async fn run(
        &self,
        lab: &Context,
        machines: &Machines,
        mut last: ControllerConfig,
        mut requests: mpsc::UnboundedReceiver<InstanceRequest>,
    ) {
        while let Some(request) = requests.recv().await {
            match request {
                InstanceRequest::Start(start) => {
                    let InstanceStart {
                        mut config,
                        text,
                        ready,
                    } = *start;
                    // The ConfigMap does not have it.
                    config.worker_clients = last.worker_clients.clone();
                    config.host = last.host.clone();
                    config.cycle_gate = last.cycle_gate.clone();
                    last = config.clone();
                    self.replace_instance(lab, config).await;
                    ready.store(true, Ordering::SeqCst);
                    self.set_running_configuration(text);
                    tracing::info!("the controller runs with the configuration of the ConfigMap");
                    machines.probe_control_plane();
                }
                InstanceRequest::Stop => self.stop_previous(0).await,
                InstanceRequest::Restart => self.replace_instance(lab, last.clone()).await,
            }
        }
    }

    /// Starts an instance in place of the current one.
    async fn replace_instance(&self, lab: &Context, config: ControllerConfig) {
        let context = child(lab);
        self.contexts.lock().push(context.clone());
        let gates = config.gates;
        // Its caches are filled before the previous instance stops, and its controllers start
        // after it: two instances never write at the same time.
        let follower = WebhooksOnlyInstance::start(&context, config).await;
        self.stop_previous(1).await;
        self.current.set(become_leader(follower, &self.metrics));
        self.gates.set(gates);
    }

    /// Stops all instances but the last `keep`.
    async fn stop_previous(&self, keep: usize) {
        let previous: Vec<Context> = {
            let contexts = self.contexts.lock();
            let count = contexts.len().saturating_sub(keep);
            contexts[..count].to_vec()
        };
        for previous in &previous {
            previous.tasks.shutdown().await;
        }
        self.contexts.lock().drain(..previous.len());
    }
}

/// Starts the controllers of an instance.
fn become_leader(follower: WebhooksOnlyInstance, metrics: &Metrics) -> Controller {
    metrics.observe_controller(follower.shared());
    follower.become_leader()
}

/// A context with its own tasks.
fn child(context: &Context) -> Context {
    Context::new(
        context.client.clone(),
        context.clock.clone(),
        context.entropy.clone(),
    )
    .with_streaming_lists(context.streaming_lists)
}
