//! [`TraceError`]: why a trace cannot be read.

/// A problem of a trace at a line of its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TraceError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The message, with the remedy.
    pub message: String,
    /// Whether the job is incomplete, so that it can be skipped.
    pub incomplete: bool,
}

/// A problem of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordError {
    pub(super) message: String,
    pub(super) incomplete: bool,
}

impl RecordError {
    /// A value that cannot be used.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            incomplete: false,
        }
    }

    /// A hole: a value that the replay needs is missing.
    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            incomplete: true,
        }
    }
}
