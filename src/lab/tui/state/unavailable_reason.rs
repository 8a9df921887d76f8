//! Why an action is unavailable.

/// Why an action is unavailable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnavailableReason {
    /// It does not apply to the current row or page. No message is shown.
    #[error("not applicable here")]
    NotApplicable,
    /// The window is read-only; the field is the verb phrase of the action.
    #[error("read-only: cannot {0} (started with --read-only or --observe)")]
    ReadOnly(&'static str),
    /// The cluster has no lab; the field is the plural noun of the missing capability.
    #[error("there are no {0}: this UI is not connected to a lab; start one with `kueue-lab up`")]
    NoLab(&'static str),
    /// The backend does not have the capability.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Any other reason.
    #[error("{0}")]
    Because(String),
}

impl UnavailableReason {
    /// A reason in one sentence.
    pub(crate) fn because(reason: &str) -> Self {
        Self::Because(reason.to_owned())
    }

    /// Whether the action stays unavailable for the life of the window.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::ReadOnly(_) | Self::NoLab(_) | Self::Unsupported(_) => true,
            Self::NotApplicable | Self::Because(_) => false,
        }
    }
}
