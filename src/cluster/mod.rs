//! Where the lab runs: an embedded cluster in this process, or (later) kind, k3d or any kubeconfig
//! context. Start, client, kubeconfig, stop.
//!
//! Knows the API server, to embed it; nothing of Kueue, of machines or of presets.

mod embedded;
pub mod plugs;

use std::path::Path;

use kube::Client;

pub use embedded::{Embedded, EmbeddedConfig};

/// A cluster the lab runs on.
pub enum Cluster {
    /// In this process.
    Embedded(Embedded),
}

/// Why a cluster is not there or cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The address cannot be listened on.
    #[error("{reason}; choose another port with --port, or leave it out for any that is free")]
    Listen {
        /// What the operating system said of which address.
        reason: String,
    },
    /// Certificates could not be made.
    #[error("cannot serve over TLS: {0}")]
    Tls(String),
    /// The kubeconfig cannot be written.
    #[error("cannot write the kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// Where to.
        path: String,
        /// What the operating system said.
        reason: String,
    },
}

impl Cluster {
    /// Its name, as kubeconfig contexts and people call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Embedded(embedded) => embedded.name(),
        }
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        match self {
            Self::Embedded(embedded) => embedded.client(),
        }
    }

    /// Lets clients outside this process in.
    ///
    /// # Errors
    /// The port is taken, or TLS cannot be set up.
    pub async fn open(&mut self) -> Result<(), ClusterError> {
        match self {
            Self::Embedded(embedded) => embedded.open().await,
        }
    }

    /// The certificate (PEM) that signs the API server's, once clients are let in.
    pub fn authority(&self) -> Option<&str> {
        match self {
            Self::Embedded(embedded) => embedded.authority(),
        }
    }

    /// Writes a kubeconfig that only its owner can read.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), ClusterError> {
        match self {
            Self::Embedded(embedded) => embedded.write_kubeconfig(path),
        }
    }

    /// Lets nobody in any more and waits for requests under way.
    pub async fn close(self) {
        match self {
            Self::Embedded(embedded) => embedded.close().await,
        }
    }
}
