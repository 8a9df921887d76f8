//! [`RemoteLab`]: a lab on an existing cluster.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::config::LabConfig;
use crate::containers::Containers;
use crate::error::LabError;
use crate::kueue_manager::CurrentController;
use crate::lab_parts::LabParts;
use crate::lab_start::{ControlPlane, LabStart, unless_cancelled};
use crate::remote::{self, Leadership};
use crate::started_parts::StartedParts;
use crate::validate_preset::validate_preset;
use kueue_lab_cluster::{Cluster, RemoteCluster};
use kueue_lab_controller::{NetworkClients, UpstreamLatency};
use kueue_lab_controller_runtime::ComponentClients;
use kueue_lab_machines::MachinesConfig;

/// A lab on an existing cluster.
pub(crate) struct RemoteLab {
    pub(crate) parts: LabParts,
}

impl RemoteLab {
    /// Checks the first preset, installs the controller, waits until it leads and starts the other parts.
    ///
    /// # Errors
    /// [`LabError`]; the parts in `started` run. Installed objects stay, except webhooks that no process would answer.
    pub(crate) async fn start(
        config: LabConfig,
        remote: &RemoteCluster,
        started: &StartedParts,
        stop: &CancellationToken,
    ) -> Result<Self, LabError> {
        let mut start = LabStart::new(config, started)?;
        start.kueue.config.worker_clients = Arc::new(NetworkClients);
        start.kueue.config.upstream_latency = UpstreamLatency::NONE;
        let existing = start.config.cluster.existing_objects.take();
        // An invalid preset must not leave a partial installation behind.
        let presets = &start.config.presets;
        if let Some(preset) = &presets.active {
            let (client, base) = (remote.client(), &start.kueue.base);
            validate_preset(
                &client,
                existing,
                &presets.folder,
                preset,
                base,
                presets.must_be_valid,
            )
            .await?;
        }
        let leadership = remote::start_leading(
            remote,
            &start.config.clock,
            &start.config.entropy,
            &start.kueue.config,
            stop,
        );
        let (operator, leadership) = leadership.await?;
        started.push(async move { operator.stop().await });
        let parts =
            unless_cancelled(stop, Box::pin(start_parts(start, remote, leadership))).await?;
        Ok(Self { parts })
    }
}

/// Starts the machines and the presets of a cluster whose controller leads.
async fn start_parts(
    mut start: LabStart<'_>,
    remote: &RemoteCluster,
    leadership: Leadership,
) -> Result<LabParts, LabError> {
    let clients = ComponentClients::from(remote.client());
    let context = start.context(&clients);
    let machines = MachinesConfig::real_cluster();
    let machines = start
        .start_machines(&context, clients, machines, &Containers::default())
        .await;
    remote::serve_logs(remote, &machines, &start.config.clock).await;
    let nodes = start.start_nodes(&context, &machines).await;
    let control = ControlPlane {
        cluster: Arc::new(Cluster::Remote(Box::new(remote.clone()))),
        context,
        machines,
        nodes,
        controller: Some(CurrentController::new(leadership.controller)),
        rollout: None,
    };
    let parts = Box::pin(start.start_presets(control)).await?;
    remote::pause_when_not_leading(
        leadership.role,
        &parts.context,
        &parts.machines,
        &parts.presets,
    );
    Ok(parts)
}
