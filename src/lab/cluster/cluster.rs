//! A cluster the lab runs on.

use std::path::Path;

use kube::Client;

use crate::embedded::EmbeddedCluster;
use crate::error::ClusterError;
use crate::remote::RemoteCluster;

/// A cluster the lab runs on.
#[expect(clippy::large_enum_variant, reason = "a lab has one cluster")]
pub enum Cluster {
    /// The embedded cluster in this process.
    Embedded(EmbeddedCluster),
    /// An existing cluster.
    Remote(Box<RemoteCluster>),
}

impl Cluster {
    /// The name of the cluster.
    pub fn name(&self) -> &str {
        match self {
            Self::Embedded(embedded) => embedded.name(),
            Self::Remote(remote) => remote.name(),
        }
    }

    /// A client with full permissions.
    pub fn client(&self) -> Client {
        match self {
            Self::Embedded(embedded) => embedded.client(),
            Self::Remote(remote) => remote.client(),
        }
    }

    /// Whether it is an embedded cluster with the objects of an earlier one.
    pub fn is_restored(&self) -> bool {
        matches!(self, Self::Embedded(embedded) if embedded.is_restored())
    }

    /// Opens the listener of an embedded cluster.
    ///
    /// # Errors
    /// The port is in use, or TLS cannot be set up.
    pub async fn open(&self) -> Result<(), ClusterError> {
        match self {
            Self::Embedded(embedded) => embedded.open().await,
            Self::Remote(_) => Ok(()),
        }
    }

    /// The CA certificate (PEM) of an embedded API server, once its listener is open.
    pub fn authority(&self) -> Option<&str> {
        match self {
            Self::Embedded(embedded) => embedded.authority(),
            Self::Remote(_) => None,
        }
    }

    /// The kubeconfig of an embedded API server, once its listener is open.
    pub fn kubeconfig(&self) -> Option<&str> {
        match self {
            Self::Embedded(embedded) => embedded.kubeconfig(),
            Self::Remote(_) => None,
        }
    }

    /// Writes a kubeconfig that is readable by its owner only.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), ClusterError> {
        match self {
            Self::Embedded(embedded) => embedded.write_kubeconfig(path),
            Self::Remote(remote) => remote.write_kubeconfig(path),
        }
    }

    /// Closes the listener and waits for active requests.
    pub async fn close(&self) {
        match self {
            Self::Embedded(embedded) => embedded.close().await,
            Self::Remote(_) => {}
        }
    }

    /// Returns a function that makes all writes to an embedded cluster durable and rejects further ones. It blocks
    /// for as long as the last writes take.
    pub fn storage_closer(&self) -> Box<dyn Fn() + Send> {
        match self {
            Self::Embedded(embedded) => embedded.storage_closer(),
            Self::Remote(_) => Box::new(|| {}),
        }
    }

    /// Makes all writes to an embedded cluster durable and releases its data directory. All clients have
    /// stopped.
    pub fn close_storage(&self) {
        match self {
            Self::Embedded(embedded) => embedded.close_storage(),
            Self::Remote(_) => {}
        }
    }
}
