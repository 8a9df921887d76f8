//! Explanations of admission decisions.

use async_trait::async_trait;

use super::OperationError;
use crate::model::ObjectKey;

/// Explains why a Workload is not admitted.
#[async_trait]
pub trait Explainer: Send + Sync + 'static {
    /// The explanation of a Workload, several lines of text.
    ///
    /// # Errors
    /// Why there is no explanation, one sentence.
    async fn explain(&self, workload: &ObjectKey) -> Result<String, OperationError>;

    /// The preemption candidates of a pending Workload with their outcomes, one line. `None` if it has none, or no engine
    /// that decides is reached.
    ///
    /// # Errors
    /// Why they are not known, one sentence.
    async fn candidates(&self, workload: &ObjectKey) -> Result<Option<String>, OperationError>;
}
