//! The speed of lab time.

use async_trait::async_trait;

use super::OperationError;

/// A lab whose clock can change its speed while it runs.
#[async_trait]
pub trait SpeedBackend: Send + Sync + 'static {
    /// Sets the speed, in lab seconds per second; returns one sentence about the result.
    ///
    /// # Errors
    /// The speed cannot be set.
    async fn set(&self, speed: f64) -> Result<String, OperationError>;
}
