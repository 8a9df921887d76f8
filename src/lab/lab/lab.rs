//! A running lab: starts and stops its parts in order.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::LabConfig;
use crate::embedded_lab::EmbeddedLab;
use crate::error::LabError;
use crate::idle::LabActivity;
use crate::kueue_manager::CurrentController;
use crate::lab_clock::LabClock;
use crate::lab_parts::LabParts;
use crate::remote_lab::RemoteLab;
use crate::started_parts::StartedParts;
use crate::workers::merged_kubeconfig;
use kueue_lab_clock::Clock;
use kueue_lab_cluster::{Cluster, ClusterError};
use kueue_lab_controller::Controller;
use kueue_lab_controller_runtime::Context;
use kueue_lab_engine::engine::ExhaustedLimit;
use kueue_lab_machines::Machines;
use kueue_lab_presets::Presets;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// A running lab.
pub struct Lab {
    on: LabOn,
    /// Its parts, in the order of their start.
    started: StartedParts,
}

/// A lab by the kind of its cluster.
#[expect(clippy::large_enum_variant, reason = "a process has few labs")]
enum LabOn {
    Embedded(EmbeddedLab),
    Remote(RemoteLab),
}

impl Lab {
    /// Starts all parts; returns when the first preset is applied and the listener is open.
    ///
    /// # Errors
    /// [`LabError`]; all parts are stopped again.
    pub async fn start(config: LabConfig) -> Result<Self, LabError> {
        let mut lab = Self::start_without_controllers(config, &CancellationToken::new()).await?;
        lab.start_controllers();
        Ok(lab)
    }

    /// Like [`start`](Self::start), without the controllers that
    /// [`start_controllers`](Self::start_controllers) starts, and with cancellation: it may wait long while
    /// another lab leads.
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`LabError::Interrupted`]; installed objects stay, except
    /// webhooks that no process would answer.
    pub async fn start_without_controllers(
        config: LabConfig,
        stop: &CancellationToken,
    ) -> Result<Self, LabError> {
        let started = StartedParts::default();
        // Boxed, as the stages are large futures.
        let lab = match config.cluster.remote.clone() {
            None => {
                let lab = Box::pin(EmbeddedLab::start(config, &started, stop)).await;
                lab.map(LabOn::Embedded)
            }
            Some(remote) => {
                let lab = Box::pin(RemoteLab::start(config, &remote, &started, stop)).await;
                lab.map(LabOn::Remote)
            }
        };
        match lab {
            Ok(on) => Ok(Self { on, started }),
            Err(error) => {
                started.stop().await;
                Err(error)
            }
        }
    }

    fn parts(&self) -> &LabParts {
        match &self.on {
            LabOn::Embedded(lab) => &lab.parts,
            LabOn::Remote(lab) => &lab.parts,
        }
    }

    /// Starts the controllers that a client does not wait for, once: those of kube-controller-manager, the
    /// heartbeats of nodes, managed jobs and the lab's kinds, and creates the Services and roles of Kueue. Their
    /// informers and lists compete with the first requests for the processors.
    pub fn start_controllers(&mut self) {
        match &mut self.on {
            LabOn::Embedded(lab) => lab.start_controllers(),
            LabOn::Remote(lab) => lab.parts.machines.start_controller_manager(),
        }
    }

    /// Whether controllers run, or will when they are started.
    pub fn has_controllers(&self) -> bool {
        match &self.on {
            LabOn::Embedded(lab) => lab.has_controllers,
            LabOn::Remote(_) => true,
        }
    }

    /// The names of the embedded worker clusters, and clients of them with full permissions.
    pub fn worker_clients(&self) -> Vec<(String, Client)> {
        self.parts().workers.worker_clients()
    }

    /// Receives each change of the embedded worker clusters.
    pub fn worker_changes(&self) -> watch::Receiver<()> {
        self.parts().workers.changes()
    }

    /// Writes a kubeconfig that is readable by its owner only: with the contexts of the worker clusters,
    /// if there are any.
    ///
    /// # Errors
    /// [`ClusterError::Kubeconfig`].
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), ClusterError> {
        self.parts().cluster.write_kubeconfig(path)?;
        let workers = self.parts().workers.kubeconfigs();
        let (Some(own), false) = (self.parts().cluster.kubeconfig(), workers.is_empty()) else {
            return Ok(());
        };
        let all = std::iter::once(own).chain(workers.iter().map(String::as_str));
        let failed = |reason: String| ClusterError::Kubeconfig {
            path: path.display().to_string(),
            reason,
        };
        let merged = merged_kubeconfig(all).map_err(|error| failed(error.to_string()))?;
        kueue_lab_host::write(path, merged).map_err(|error| failed(error.to_string()))
    }

    /// A client with full permissions.
    pub fn client(&self) -> Client {
        self.parts().cluster.client()
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.parts().cluster
    }

    /// Lab time.
    pub fn clock(&self) -> &Clock {
        &self.parts().context.clock
    }

    /// The clock for users: pause, speed and runs to an event. `None` on existing clusters and in virtual time.
    pub fn lab_clock(&self) -> Option<&LabClock> {
        self.parts().clock.as_ref()
    }

    /// The context of tasks that end with the lab.
    pub fn context(&self) -> &Context {
        &self.parts().context
    }

    /// The presets.
    pub fn presets(&self) -> &Arc<Presets> {
        &self.parts().presets
    }

    /// SkyPilot's managed jobs.
    pub fn jobs(&self) -> &ManagedJobs {
        &self.parts().jobs
    }

    /// The nodes and the pods on them.
    pub fn machines(&self) -> &Arc<Machines> {
        &self.parts().machines
    }

    /// The current instance of the admission controller, if one runs.
    pub fn controller(&self) -> Option<Controller> {
        self.parts().controller.as_ref().map(CurrentController::get)
    }

    /// Whether labs of the same configuration can start from a snapshot.
    pub(crate) fn starts_from_snapshots(&self) -> bool {
        matches!(&self.on, LabOn::Embedded(lab) if lab.starts_from_snapshots)
    }

    /// Observes whether the lab does something.
    pub fn activity(&self) -> LabActivity {
        let clock = self.parts().context.clock.clone();
        LabActivity::new(
            clock,
            self.parts().controller.clone(),
            &self.parts().cluster,
        )
    }

    /// Returns the current instance of the admission controller, at each call; `None` if none runs.
    pub fn current_controller(&self) -> Option<impl Fn() -> Controller + Send + Sync + use<>> {
        let controller = self.parts().controller.clone()?;
        Some(move || controller.get())
    }

    /// Returns the quotas and limits that are used completely now, if the lab runs the controller.
    pub fn exhausted_limits(
        &self,
    ) -> Option<impl Fn() -> Vec<ExhaustedLimit> + Send + Sync + use<>> {
        let controller = self.current_controller()?;
        Some(move || controller().shared().engine().exhausted_limits())
    }

    /// Returns a function that makes all writes to an embedded cluster durable and rejects further ones, for a
    /// process that ends without [`stop`](Self::stop). Blocks for as long as the last writes take.
    pub fn storage_closer(&self) -> Box<dyn Fn() + Send> {
        self.parts().cluster.storage_closer()
    }

    /// Stops all parts, the listener first and the storage last.
    pub async fn stop(self) {
        self.started.stop().await;
    }

    /// Like [`stop`](Self::stop), but closes the storage when `deadline` completes, whatever has not stopped until
    /// then: a task that does not yield, or one that waits for a thread. Returns whether all parts have stopped.
    pub async fn stop_until(self, deadline: impl Future<Output = ()>) -> bool {
        self.started.stop_until(deadline).await
    }
}
