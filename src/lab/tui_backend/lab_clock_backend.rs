//! The clock of a lab of this process, for the UI.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use kueue_lab_lab::{LabClock, LabClockError, LabClockState};
use kueue_lab_reason::StopCondition;
use kueue_lab_tui::backend::{ClockBackend, ClockState, OperationError};

/// The clock of a lab of this process.
pub struct LabClockBackend {
    clock: LabClock,
    state: watch::Receiver<Arc<ClockState>>,
    /// Keeps `state` up to date.
    _task: AbortOnDropHandle<()>,
}

impl LabClockBackend {
    /// The clock of a lab.
    pub fn new(clock: &LabClock) -> Self {
        let mut changes = clock.changes();
        let sender = watch::Sender::new(Arc::new(clock_state(&changes.borrow())));
        let state = sender.subscribe();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let state = clock_state(&changes.borrow_and_update());
                sender.send_replace(Arc::new(state));
            }
        });
        Self {
            clock: clock.clone(),
            state,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn summary(&self) -> String {
        self.clock.changes().borrow().text()
    }
}

/// The state of a clock as the UI shows it.
pub(crate) fn clock_state(state: &LabClockState) -> ClockState {
    ClockState {
        is_paused: state.paused,
        speed: state.speed,
        until: state.until,
        summary: state.text(),
        heads: state.heads.clone(),
    }
}

#[async_trait]
impl ClockBackend for LabClockBackend {
    fn changes(&self) -> watch::Receiver<Arc<ClockState>> {
        self.state.clone()
    }

    async fn set_speed(&self, speed: f64) -> Result<String, OperationError> {
        self.clock.set_speed(speed).map_err(operation_error)?;
        Ok(format!("{speed} seconds of lab time per second"))
    }

    async fn run_at(&self, speed: f64) -> Result<String, OperationError> {
        let text = self.set_speed(speed).await?;
        if self.clock.clock().is_paused() {
            self.clock.resume();
        }
        Ok(text)
    }

    async fn set_paused(&self, paused: bool) -> Result<String, OperationError> {
        match paused {
            true => self.clock.pause(),
            false => self.clock.resume(),
        }
        Ok(self.summary())
    }

    async fn run_until(&self, event: StopCondition) -> Result<String, OperationError> {
        self.clock.run_until(event).map_err(operation_error)?;
        Ok(self.summary())
    }
}

fn operation_error(error: LabClockError) -> OperationError {
    OperationError(error.to_string())
}
