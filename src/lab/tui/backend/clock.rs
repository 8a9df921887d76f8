//! The clock of a lab: its pause, its speed, and runs to an event.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_reason::{CycleHead, StopCondition};
use tokio::sync::watch;

use super::OperationError;

/// A lab whose time can be paused. The returned texts are one sentence about the result.
#[async_trait]
pub trait ClockBackend: Send + Sync + 'static {
    /// The state, with each of its changes.
    fn changes(&self) -> watch::Receiver<Arc<ClockState>>;

    /// Sets the speed, in lab seconds per second; a paused clock stays paused. 0 pauses it.
    ///
    /// # Errors
    /// The speed cannot be set.
    async fn set_speed(&self, speed: f64) -> Result<String, OperationError>;

    /// Sets the speed, and resumes a paused clock.
    ///
    /// # Errors
    /// The speed cannot be set.
    async fn run_at(&self, speed: f64) -> Result<String, OperationError>;

    /// Pauses lab time and everything that runs in it, or resumes it.
    ///
    /// # Errors
    /// The clock cannot be paused.
    async fn set_paused(&self, paused: bool) -> Result<String, OperationError>;

    /// Resumes lab time until an event.
    ///
    /// # Errors
    /// The lab does not observe the event.
    async fn run_until(&self, event: StopCondition) -> Result<String, OperationError>;
}

/// The state of the clock of a lab.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockState {
    /// Whether lab time stands still.
    pub is_paused: bool,
    /// Lab seconds per second while it does not.
    pub speed: f64,
    /// The event at which it will be paused.
    pub until: Option<StopCondition>,
    /// One sentence: where it was paused, or to which event it runs.
    pub summary: String,
    /// While it is paused: the heads of the next scheduling cycle in their order, each with the decision if the cycle
    /// begins now.
    pub heads: Vec<CycleHead>,
}
