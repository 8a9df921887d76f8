//! [`EmbeddedWorkerClients`]: clients of embedded worker clusters without sockets, and of others over
//! the network.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use kube::config::Kubeconfig;
use kueue_lab_controller::{NetworkClientsWithin, WorkerClientError, WorkerClients};
use kueue_lab_host::HostAddresses;
use parking_lot::RwLock;
use serde_json::Value;

/// An embedded worker cluster with its kubeconfig.
pub(crate) struct EmbeddedWorker {
    /// The kubeconfig, as a value to compare.
    kubeconfig: Value,
    /// The client.
    client: Client,
}

impl EmbeddedWorker {
    /// A worker; None if the text is not a kubeconfig.
    pub(crate) fn new(kubeconfig: &str, client: Client) -> Option<Self> {
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig).ok()?;
        Some(Self {
            kubeconfig: comparable(&kubeconfig),
            client,
        })
    }
}

/// Clients of worker clusters. A kubeconfig of an embedded worker, with its address and credentials,
/// gets a client of this process. Clones share the workers.
#[derive(Clone)]
pub(crate) struct EmbeddedWorkerClients {
    workers: Arc<RwLock<Vec<EmbeddedWorker>>>,
    network: NetworkClientsWithin,
}

impl EmbeddedWorkerClients {
    /// No workers yet; others are reached over the network, at `addresses`.
    pub(crate) fn new(addresses: HostAddresses) -> Self {
        Self {
            workers: Arc::default(),
            network: NetworkClientsWithin(addresses),
        }
    }

    /// Adds a worker.
    pub(crate) fn add(&self, worker: Option<EmbeddedWorker>) {
        self.workers.write().extend(worker);
    }

    /// Removes a worker with the same kubeconfig.
    pub(crate) fn remove(&self, worker: Option<EmbeddedWorker>) {
        let Some(removed) = worker else {
            return;
        };
        let mut workers = self.workers.write();
        workers.retain(|worker| worker.kubeconfig != removed.kubeconfig);
    }
}

impl fmt::Debug for EmbeddedWorkerClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmbeddedWorkerClients({})", self.workers.read().len())
    }
}

/// A kubeconfig as a value that can be compared.
fn comparable(kubeconfig: &Kubeconfig) -> Value {
    serde_json::to_value(kubeconfig).unwrap_or_default()
}

impl WorkerClients for EmbeddedWorkerClients {
    fn client(
        &self,
        kubeconfig: Kubeconfig,
    ) -> BoxFuture<'static, Result<Client, WorkerClientError>> {
        let asked = comparable(&kubeconfig);
        let workers = self.workers.read();
        let embedded = workers.iter().find(|worker| worker.kubeconfig == asked);
        match embedded {
            Some(worker) => futures::future::ready(Ok(worker.client.clone())).boxed(),
            None => self.network.client(kubeconfig),
        }
    }
}
