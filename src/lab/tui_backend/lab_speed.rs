//! [`LabSpeed`]: the speed of lab time in the UI.

use async_trait::async_trait;

use kueue_lab_clock::Clock;
use kueue_lab_tui::backend::{OperationError, SpeedBackend};

/// Sets the speed of a lab with an adjustable clock.
pub struct LabSpeed(Clock);

impl LabSpeed {
    /// The speed of `clock`; `None` if it cannot be changed.
    pub fn new(clock: &Clock) -> Option<Self> {
        clock.is_adjustable().then(|| Self(clock.clone()))
    }
}

#[async_trait]
impl SpeedBackend for LabSpeed {
    async fn set(&self, speed: f64) -> Result<String, OperationError> {
        match self.0.set_speed(speed) {
            true => Ok(format!("{speed} seconds of lab time per second")),
            false => Err(OperationError("this clock has a fixed speed".into())),
        }
    }
}
