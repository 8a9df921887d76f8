//! Instances of the controller: a new one replaces the current one, each with its own tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::current_controller::{CurrentController, CurrentGates};
use kueue_lab_controller::{Controller, ControllerConfig, WebhooksOnlyInstance};
use kueue_lab_machines::Machines;
use kueue_lab_runtime::Context;

/// The instances of the controller. Clones share them.
#[derive(Clone)]
pub(crate) struct ControllerInstances {
    current: CurrentController,
    gates: CurrentGates,
    starts: mpsc::UnboundedSender<InstanceStart>,
    /// The contexts of the running instances: more than one only during a restart.
    contexts: Arc<Mutex<Vec<Context>>>,
}

/// The start of an instance.
pub(super) struct InstanceStart {
    /// Its configuration.
    pub(super) config: ControllerConfig,
    /// Set when it is the current instance.
    pub(super) ready: Arc<AtomicBool>,
}

impl ControllerInstances {
    /// Starts the first instance.
    pub(crate) async fn start(
        context: &Context,
        config: ControllerConfig,
        gates: CurrentGates,
        machines: &Arc<Machines>,
    ) -> Self {
        let first = child(context);
        let (starts, requests) = mpsc::unbounded_channel();
        let instances = Self {
            current: CurrentController::new(Controller::start(&first, config).await),
            gates,
            starts,
            contexts: Arc::new(Mutex::new(vec![first])),
        };
        let (this, lab, machines) = (instances.clone(), context.clone(), machines.clone());
        context.tasks.spawn("controller-instances", async move {
            this.run(&lab, &machines, requests).await;
        });
        instances
    }

    /// The current instance.
    pub(crate) fn current(&self) -> &CurrentController {
        &self.current
    }

    /// Requests a new instance.
    pub(super) fn request_start(&self, start: InstanceStart) {
        // The receiver ends with the lab.
        let _ = self.starts.send(start);
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
        mut requests: mpsc::UnboundedReceiver<InstanceStart>,
    ) {
        while let Some(InstanceStart { config, ready }) = requests.recv().await {
            let context = child(lab);
            self.contexts.lock().push(context.clone());
            let gates = config.gates;
            // Its caches are filled before the previous instance stops, and its controllers start
            // after it: two instances never write at the same time.
            let follower = WebhooksOnlyInstance::start(&context, config).await;
            let previous: Vec<Context> = {
                let contexts = self.contexts.lock();
                let count = contexts.len() - 1;
                contexts[..count].to_vec()
            };
            for previous in &previous {
                previous.tasks.shutdown().await;
            }
            self.current.set(follower.become_leader());
            self.gates.set(gates);
            self.contexts.lock().drain(..previous.len());
            ready.store(true, Ordering::SeqCst);
            tracing::info!("the controller runs with the configuration of the ConfigMap");
            machines.probe_control_plane();
        }
    }
}

/// A context with its own tasks.
fn child(context: &Context) -> Context {
    Context::new(
        context.client.clone(),
        context.clock.clone(),
        context.entropy.clone(),
    )
}
