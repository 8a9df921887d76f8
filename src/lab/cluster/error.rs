//! Errors of starting or reaching a cluster.

use crate::credentials::ExecPluginError;

/// The error of the start of a cluster, or of the connection to it.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The context refers to another server than before.
    #[error("context {context} now refers to {server}")]
    OtherServer {
        /// The context.
        context: String,
        /// The server.
        server: String,
    },
    /// The address cannot be listened on.
    #[error("{reason}; choose another port with --port, or omit it for any free port")]
    Listen {
        /// The operating system's error, with the address.
        reason: String,
    },
    /// Certificates could not be created.
    #[error("cannot serve over TLS: {0}")]
    Tls(String),
    /// The cluster of a data directory cannot be restored.
    #[error("cannot restore the cluster of the data directory: {0}")]
    Restore(String),
    /// The kubeconfig cannot be written.
    #[error("cannot write the kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// Its path.
        path: String,
        /// The operating system's error.
        reason: String,
    },
    /// A kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {file}: {reason}")]
    Source {
        /// The file or context.
        file: String,
        /// The error.
        reason: String,
    },
    /// The kubeconfig has no such context.
    #[error("there is no context {context:?} in {file}; there are: {known}")]
    NoContext {
        /// The requested context.
        context: String,
        /// The file.
        file: String,
        /// The existing contexts.
        known: String,
    },
    /// The user's credential plugin returns no credentials.
    #[error("cannot use context {context}: {error}")]
    Plugin {
        /// The context.
        context: String,
        /// The error.
        error: ExecPluginError,
    },
    /// The API server does not answer.
    #[error(
        "the cluster of context {context} does not answer at {server}: {reason}; is it running?"
    )]
    Unreachable {
        /// The context.
        context: String,
        /// The address of the API server.
        server: String,
        /// The error.
        reason: String,
    },
    /// The API server rejects the user.
    #[error("the cluster of context {context} rejects its user: {reason}; renew the credentials")]
    Refused {
        /// The context.
        context: String,
        /// The server's message.
        reason: String,
    },
    /// The cluster's Kubernetes version is not supported.
    #[error(
        "the cluster of context {context} runs Kubernetes {version}; the lab needs {oldest} or newer"
    )]
    TooOld {
        /// Its version.
        context: String,
        /// The oldest supported version.
        version: String,
        /// The oldest that will do.
        oldest: String,
    },
}

impl ClusterError {
    /// Whether the request is invalid, rather than its execution failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Tls(_) | Self::Restore(_))
    }
}
