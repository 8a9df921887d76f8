//! Why something could not be installed or removed, in a line that says what to do.

/// Why something could not be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The right to do it is missing.
    #[error(
        "not allowed to {verb} {what}: {message}; use a context with the rights of a cluster administrator, or have lab/deploy/kueue-lab.yaml applied"
    )]
    Forbidden {
        /// The verb of the right.
        verb: &'static str,
        /// Resource and name.
        what: String,
        /// What the cluster says.
        message: String,
    },
    /// The cluster refuses.
    #[error("cannot {verb} {what}: {message}")]
    Refused {
        /// What was tried.
        verb: &'static str,
        /// Resource and name.
        what: String,
        /// What the cluster says.
        message: String,
    },
    /// The cluster does not answer, or not now.
    #[error("cannot {verb} {what} now: {source}")]
    Unavailable {
        /// What was tried.
        verb: &'static str,
        /// Resource and name.
        what: String,
        /// Why.
        source: kube::Error,
    },
    /// A kind is there in versions this lab does not know.
    #[error(
        "the CustomResourceDefinition {name} of this cluster stores objects as {versions}, which this kueue-lab cannot read; upgrade Kueue's kinds to v1beta2 first, or remove them"
    )]
    UnknownStoredVersions {
        /// The definition.
        name: String,
        /// The versions, comma-separated.
        versions: String,
    },
    /// A kind is not served.
    #[error("the CustomResourceDefinition {name} is not served: {why}")]
    NotServed {
        /// The definition.
        name: String,
        /// What the cluster says.
        why: String,
    },
    /// The cluster does not get to the webhooks.
    #[error(
        "the cluster does not reach the webhooks of this kueue-lab at {url}: {why}; open that port to the cluster's API server, go without webhooks with --no-webhooks, or run the controller inside the cluster (lab/deploy)"
    )]
    WebhooksUnreachable {
        /// Where they are.
        url: String,
        /// What the cluster says.
        why: String,
    },
    /// The certificate of the webhooks.
    #[error(transparent)]
    Certificate(#[from] kueue_lab_webhooks::certificates::CertificateError),
    /// Somebody still runs the controller.
    #[error("{0} still runs Kueue's controller on this cluster; stop it first")]
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
            // It may go better in a moment.
            kube::Error::Api(status) if matches!(status.code, 409 | 429 | 500..=504) => {
                let source = kube::Error::Api(status);
                Self::Unavailable { verb, what, source }
            }
            kube::Error::Api(status) => Self::Refused {
                verb,
                what,
                message: status.message.clone(),
            },
            source => Self::Unavailable { verb, what, source },
        }
    }

    /// Whether what was asked for cannot be, rather than that something went wrong.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Unavailable { .. } | Self::Certificate(_))
    }
}
