//! The error that ends a session.

/// An error that ends the session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RsyncError {
    /// The exit code of rsync, see EXIT VALUES in its manual.
    pub code: i32,
    /// For the standard error.
    pub message: String,
}

impl RsyncError {
    /// The options are wrong or not supported.
    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self {
            code: 4,
            message: message.into(),
        }
    }

    /// The client does not follow the protocol.
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            message: message.into(),
        }
    }

    /// The destination cannot be used.
    pub(crate) fn destination(message: impl Into<String>) -> Self {
        Self {
            code: 11,
            message: message.into(),
        }
    }

    /// The stream ended early.
    pub(crate) fn closed() -> Self {
        Self {
            code: 12,
            message: "connection unexpectedly closed".into(),
        }
    }
}

/// The exit code if some files were not transferred.
pub(crate) const PARTIAL: i32 = 23;
