//! Errors of CEL programs, worded as in cel-go.

use kube_cel::cel::{ExecutionError, Value as Cel};

pub(crate) fn is_overload(error: &ExecutionError) -> bool {
    matches!(
        error,
        ExecutionError::NoSuchOverload
            | ExecutionError::UnsupportedBinaryOperator(..)
            | ExecutionError::UnsupportedUnaryOperator(..)
    )
}

/// The error message of cel-go.
pub(crate) fn error_reason(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(Cel::Int(i)) => format!("index out of bounds: {i}"),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
        ExecutionError::Overflow(..) => "integer overflow".into(),
        other if is_overload(other) => "no such overload".into(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
