//! Where the lab runs: an embedded cluster in this process, one of kind or k3d on this machine, or
//! any other through one context of a kubeconfig. Start, client, kubeconfig, stop.
//!
//! Knows the API server, to embed it; nothing of Kueue, of machines or of presets.

mod connectivity;
mod credentials;
mod embedded;
pub mod in_cluster;
mod kubeconfig_context;
pub mod local;
pub mod plugins;
mod remote;

use std::path::Path;

use kube::Client;

pub use credentials::ExecPluginError;
pub use embedded::{EmbeddedCluster, EmbeddedConfig};
pub use kubeconfig_context::{KubeconfigContext, context_names, error_chain};
pub use remote::RemoteCluster;

/// A cluster the lab runs on.
pub enum Cluster {
    /// In this process.
    Embedded(EmbeddedCluster),
    /// Run by somebody else.
    Remote(Box<RemoteCluster>),
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
    /// A kubeconfig that should be read cannot be used.
    #[error("cannot use the kubeconfig {file}: {reason}")]
    Source {
        /// Which file or context.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The kubeconfig has no such context.
    #[error("there is no context {context:?} in {file}; there are: {known}")]
    NoContext {
        /// The context asked for.
        context: String,
        /// Where it was looked for.
        file: String,
        /// The contexts there are.
        known: String,
    },
    /// The user's credential plugin gives no credentials.
    #[error("cannot use context {context}: {error}")]
    Plugin {
        /// The context.
        context: String,
        /// Why it does not.
        error: ExecPluginError,
    },
    /// The API server does not answer.
    #[error(
        "the cluster of context {context} does not answer at {server}: {reason}; is it running?"
    )]
    Unreachable {
        /// The context.
        context: String,
        /// The address tried.
        server: String,
        /// What happened.
        reason: String,
    },
    /// The API server does not know the user.
    #[error(
        "the cluster of context {context} does not let its user in: {reason}; renew the credentials"
    )]
    Refused {
        /// The context.
        context: String,
        /// What the server said.
        reason: String,
    },
    /// The cluster runs a Kubernetes the lab does not support.
    #[error(
        "the cluster of context {context} runs Kubernetes {version}; the lab needs {oldest} or newer"
    )]
    TooOld {
        /// The context.
        context: String,
        /// What it runs.
        version: String,
        /// The oldest that will do.
        oldest: String,
    },
}

impl ClusterError {
    /// Whether what was asked for is wrong, rather than what happened.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }
}

impl Cluster {
    /// Its name, as kubeconfig contexts and people call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Embedded(embedded) => embedded.name(),
            Self::Remote(remote) => remote.name(),
        }
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        match self {
            Self::Embedded(embedded) => embedded.client(),
            Self::Remote(remote) => remote.client(),
        }
    }

    /// Whether somebody else runs it.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    /// Lets clients outside this process in, where that is ours to do.
    ///
    /// # Errors
    /// The port is taken, or TLS cannot be set up.
    pub async fn open(&mut self) -> Result<(), ClusterError> {
        match self {
            Self::Embedded(embedded) => embedded.open().await,
            Self::Remote(_) => Ok(()),
        }
    }

    /// The certificate (PEM) that signs an embedded API server's, once clients are let in.
    pub fn authority(&self) -> Option<&str> {
        match self {
            Self::Embedded(embedded) => embedded.authority(),
            Self::Remote(_) => None,
        }
    }

    /// Writes a kubeconfig that only its owner can read.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), ClusterError> {
        match self {
            Self::Embedded(embedded) => embedded.write_kubeconfig(path),
            Self::Remote(remote) => remote.write_kubeconfig(path),
        }
    }

    /// Lets nobody in any more and waits for requests under way.
    pub async fn close(self) {
        match self {
            Self::Embedded(embedded) => embedded.close().await,
            Self::Remote(_) => {}
        }
    }
}
