//! [`WorkerCluster`]: an embedded worker cluster, a lab of its own.

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::cluster_role::ClusterRole;
use crate::config::{LabClusterConfig, LabComponentsConfig, LabConfig, LabPresetsConfig};
use crate::error::LabError;
use crate::lab::Lab;
use crate::workers::{EmbeddedWorker, WorkerNetwork, kubeconfig_without_listener};

/// An embedded worker cluster.
pub(crate) struct WorkerCluster {
    /// The name of the cluster and its MultiKueueCluster.
    pub(crate) name: String,
    pub(crate) lab: Lab,
    pub(crate) kubeconfig: String,
    /// The connection of the manager to the cluster.
    pub(crate) network: WorkerNetwork,
}

impl WorkerCluster {
    /// Starts a cluster with the configuration that [`worker_config`] makes.
    ///
    /// # Errors
    /// The lab does not start.
    pub(crate) async fn start(config: LabConfig) -> Result<Self, LabError> {
        let name = config
            .cluster
            .role
            .worker_name()
            .unwrap_or_default()
            .to_owned();
        let lab = start_lab(config).await?;
        Ok(Self {
            kubeconfig: match lab.cluster().kubeconfig() {
                Some(text) => text.to_owned(),
                None => kubeconfig_without_listener(&name),
            },
            network: WorkerNetwork::new(),
            name,
            lab,
        })
    }

    /// The client of the manager's controller.
    pub(crate) fn embedded_worker(&self) -> Option<EmbeddedWorker> {
        let client = self.network.client(self.lab.client());
        EmbeddedWorker::new(&self.kubeconfig, client)
    }

    /// Stops the cluster.
    pub(crate) async fn stop(self) {
        stop_lab(self.lab).await;
    }
}

/// The configuration of a worker: that of the manager without workers, with a port of its own.
pub(crate) fn worker_config(config: &LabConfig, name: &str) -> LabConfig {
    let cluster = &config.cluster;
    LabConfig {
        clock: config.clock.clone(),
        entropy: config.entropy.clone(),
        cluster: LabClusterConfig {
            port: cluster.port.map(|_| 0),
            request_limits: cluster.request_limits,
            host_addresses: cluster.host_addresses.of_another_cluster(),
            shutdown_delay: cluster.shutdown_delay,
            external_clients: cluster.external_clients,
            role: ClusterRole::Worker {
                name: name.to_owned(),
            },
            ..LabClusterConfig::default()
        },
        presets: LabPresetsConfig {
            review: None,
            ..config.presets.clone()
        },
        components: LabComponentsConfig {
            controller: true,
            controllers: true,
            ..config.components.clone()
        },
    }
}

/// Starts a worker. Boxed, as a lab starts its workers.
fn start_lab(config: LabConfig) -> BoxFuture<'static, Result<Lab, LabError>> {
    async move { Lab::start(config).await }.boxed()
}

fn stop_lab(lab: Lab) -> BoxFuture<'static, ()> {
    async move { lab.stop().await }.boxed()
}
