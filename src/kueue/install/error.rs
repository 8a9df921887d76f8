//! Errors of install and uninstall, as one line that names the remedy.

/// An error of install or uninstall.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Missing permission.
    #[error(
        "not allowed to {verb} {what}: {message}; use a context with the rights of a cluster administrator, or have lab/deploy/kueue-lab.yaml applied"
    )]
    Forbidden {
        /// The verb.
        verb: &'static str,
        /// Resource and name.
        what: String,
        /// The message of the API server.
        message: String,
    },
    /// The request was rejected.
    #[error("cannot {verb} {what}: {message}")]
    Rejected {
        /// The verb.
        verb: &'static str,
        /// Resource and name.
        what: String,
        /// The message of the API server.
        message: String,
    },
    /// The API server is unavailable.
    #[error("cannot {verb} {what} now: {source}")]
    Unavailable {
        /// The verb.
        verb: &'static str,
        /// Resource and name.
        what: String,
        /// The cause.
        source: kube::Error,
    },
    /// A CRD has stored versions that the lab does not support.
    #[error(
        "the CustomResourceDefinition {name} of this cluster stores objects as {versions}, which this kueue-lab cannot read; upgrade Kueue's kinds to v1beta2 first, or remove them"
    )]
    UnknownStoredVersions {
        /// The CRD.
        name: String,
        /// The versions, comma-separated.
        versions: String,
    },
    /// A CRD is not established.
    #[error("the CustomResourceDefinition {name} is not served: {reason}")]
    NotServed {
        /// The CRD.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The API server cannot call the webhooks.
    #[error(
        "the API server cannot call the webhooks of this kueue-lab at {url}: {reason}; open that port to the API server, disable webhooks with --no-webhooks, or run the controller inside the cluster (lab/deploy)"
    )]
    WebhooksUnreachable {
        /// Their URL.
        url: String,
        /// The message of the API server.
        reason: String,
    },
    /// The API server does not reach the server of explanations.
    #[error("the API server does not reach the server of explanations: {reason}")]
    ExplanationsUnreachable {
        /// The condition of the APIService.
        reason: String,
    },
    /// The serving certificate of the webhooks.
    #[error(transparent)]
    Certificate(#[from] kueue_lab_webhooks::certificates::CertificateError),
    /// The cluster has no such ClusterRole of Kueue.
    #[error(
        "this cluster has no ClusterRole {0}; the embedded cluster has it, and Kueue's release manifest brings it"
    )]
    NoClusterRole(&'static str),
    /// A controller is still running.
    #[error("{0} still runs the Kueue controller on this cluster; stop it first")]
    ControllerRunning(String),
}

impl InstallError {
    pub(super) fn of(verb: &'static str, what: String, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 403 && status.reason == "Forbidden" => {
                Self::Forbidden {
                    verb,
                    what,
                    message: status.message.clone(),
                }
            }
            // Retrying may succeed.
            kube::Error::Api(status) if matches!(status.code, 409 | 429 | 500..=504) => {
                let source = kube::Error::Api(status);
                Self::Unavailable { verb, what, source }
            }
            kube::Error::Api(status) => Self::Rejected {
                verb,
                what,
                message: status.message.clone(),
            },
            source => Self::Unavailable { verb, what, source },
        }
    }

    /// Whether the cause is the request or the cluster rather than a transient failure.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Unavailable { .. } | Self::Certificate(_))
    }
}
