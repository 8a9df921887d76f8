//! [`WorkerClients`]: makes clients of MultiKueue's worker clusters from their kubeconfigs.

use std::fmt::Debug;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kueue_lab_host::HostAddresses;

/// Makes the clients of worker clusters.
pub trait WorkerClients: Debug + Send + Sync {
    /// A client of the cluster of the current context. It does not have to connect.
    ///
    /// The error of the future is a message: the kubeconfig is incomplete, or its certificates are
    /// not valid.
    fn client(&self, kubeconfig: Kubeconfig) -> BoxFuture<'static, Result<Client, String>>;
}

/// Clients over the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkClients;

impl WorkerClients for NetworkClients {
    fn client(&self, kubeconfig: Kubeconfig) -> BoxFuture<'static, Result<Client, String>> {
        async move {
            let config = config_of(kubeconfig).await?;
            kueue_lab_host::client(config).map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Clients over the network for the manager of an embedded cluster, where a kubeconfig in a Secret reaches
/// an address of this machine only if it is permitted.
#[derive(Clone, Debug, Default)]
pub struct NetworkClientsWithin(pub HostAddresses);

impl WorkerClients for NetworkClientsWithin {
    fn client(&self, kubeconfig: Kubeconfig) -> BoxFuture<'static, Result<Client, String>> {
        let addresses = self.0.clone();
        async move { kueue_lab_host::client_within(config_of(kubeconfig).await?, &addresses) }
            .boxed()
    }
}

async fn config_of(kubeconfig: Kubeconfig) -> Result<Config, String> {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.map_err(|error| error.to_string())?;
    // A watch without events may be idle for longer than the default timeout.
    config.read_timeout = None;
    Ok(config)
}
