//! Errors of an import.

/// The error of the import of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The user lacks rights: each as a verb on a resource.
    #[error(
        "the cluster denies these requests: {}; grant the rights to the user (docs/import.md has a ClusterRole)",
        .0.join(", ")
    )]
    MissingRights(Vec<String>),
    /// The cluster does not accept the credentials of the user.
    #[error(
        "the cluster does not accept the credentials of the kubeconfig ({0}); log in again or renew the token, and check them with `kubectl auth whoami`"
    )]
    Unauthorized(String),
    /// The cluster does not serve Kueue's API in a version that the lab knows.
    #[error("{0}")]
    OtherKueue(String),
    /// The cluster has too many objects.
    #[error("{0}")]
    TooLarge(String),
    /// A request failed.
    #[error("cannot {what}: {reason}")]
    Request {
        /// The verb and the resource.
        what: String,
        /// The server's message, or why the cluster cannot be reached.
        reason: String,
        /// The error of the connection.
        #[source]
        source: Option<Box<kube::Error>>,
    },
}

impl ImportError {
    /// Whether the request is invalid, rather than its execution failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Request { .. })
    }
}
