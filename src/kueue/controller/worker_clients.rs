//! [`WorkerClients`]: makes clients of MultiKueue's worker clusters from their kubeconfigs.

use std::fmt::Debug;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use kueue_lab_host::{ClientError, HostAddresses};

/// Why a worker cluster has no client.
#[derive(Debug, thiserror::Error)]
pub enum WorkerClientError {
    /// The kubeconfig is incomplete.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Makes the clients of worker clusters.
pub trait WorkerClients: Debug + Send + Sync {
    /// A client of the cluster of the current context. It does not have to connect.
    ///
    /// The future fails if the kubeconfig is incomplete, or its certificates are not valid.
    fn client(
        &self,
        kubeconfig: Kubeconfig,
    ) -> BoxFuture<'static, Result<Client, WorkerClientError>>;
}

/// Clients over the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkClients;

impl WorkerClients for NetworkClients {
    fn client(
        &self,
        kubeconfig: Kubeconfig,
    ) -> BoxFuture<'static, Result<Client, WorkerClientError>> {
        async move {
            let config = config_of(kubeconfig).await?;
            Ok(kueue_lab_host::client(config).map_err(ClientError::from)?)
        }
        .boxed()
    }
}

/// Clients over the network for the manager of an embedded cluster, where a kubeconfig in a Secret reaches
/// an address of this machine only if it is permitted.
#[derive(Clone, Debug, Default)]
pub struct NetworkClientsWithin(pub HostAddresses);

impl WorkerClients for NetworkClientsWithin {
    fn client(
        &self,
        kubeconfig: Kubeconfig,
    ) -> BoxFuture<'static, Result<Client, WorkerClientError>> {
        let addresses = self.0.clone();
        async move {
            let config = config_of(kubeconfig).await?;
            Ok(kueue_lab_host::client_within(config, &addresses)?)
        }
        .boxed()
    }
}

async fn config_of(kubeconfig: Kubeconfig) -> Result<Config, WorkerClientError> {
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // A watch without events may be idle for longer than the default timeout.
    config.read_timeout = None;
    Ok(config)
}
