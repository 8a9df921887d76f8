//! Errors of operations.

/// Why an operation failed, one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OperationError(pub String);
