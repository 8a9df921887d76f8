//! [`LabSpeed`]: the speed and the pause of lab time in the UI.

use async_trait::async_trait;

use kueue_lab_clock::Clock;
use kueue_lab_tui::backend::{OperationError, SpeedBackend};

/// Sets the speed of a lab with an adjustable clock, and pauses it.
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
        match self.0.set_speed(speed) && self.0.resume() {
            true => Ok(format!("{speed} seconds of lab time per second")),
            false => Err(fixed_speed()),
        }
    }

    async fn set_paused(&self, paused: bool) -> Result<String, OperationError> {
        let is_set = if paused {
            self.0.pause()
        } else {
            self.0.resume()
        };
        match is_set {
            false => Err(fixed_speed()),
            true if paused => Ok("lab time is paused: nothing is scheduled, runs or ends".into()),
            true => Ok("lab time goes on".into()),
        }
    }
}

fn fixed_speed() -> OperationError {
    OperationError("this clock has a fixed speed".into())
}
