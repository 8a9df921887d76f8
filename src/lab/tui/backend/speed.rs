//! Lab time that can be changed: its speed, and whether it is paused.

use async_trait::async_trait;

use super::OperationError;

/// A lab whose clock can change its speed while it runs, and be paused.
#[async_trait]
pub trait SpeedBackend: Send + Sync + 'static {
    /// Sets the speed, in lab seconds per second, and resumes a paused clock; returns one sentence about the result.
    ///
    /// # Errors
    /// The speed cannot be set.
    async fn set(&self, speed: f64) -> Result<String, OperationError>;

    /// Pauses lab time and everything that runs in it, or resumes it; returns one sentence about the result.
    ///
    /// # Errors
    /// The clock cannot be paused.
    async fn set_paused(&self, paused: bool) -> Result<String, OperationError>;
}
