//! The clock of a lab that another process runs, for the UI: its `Clock` object.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;
use kube::api::DynamicObject;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::lab_clock_backend::clock_state;
use crate::object_list::ObjectList;
use kueue_lab_clock::Clock;
use kueue_lab_lab::{CLOCK, ClockSpec, ClockStatus, LabClockState};
use kueue_lab_reason::StopCondition;
use kueue_lab_tui::backend::{ClockBackend, ClockState, OperationError};

/// The clock of a lab that another process runs.
pub struct ClusterClock {
    objects: ObjectList,
    clock: Clock,
    state: watch::Receiver<Arc<ClockState>>,
    /// Keeps `clock` and `state` up to date.
    _task: AbortOnDropHandle<()>,
}

impl ClusterClock {
    /// The clock of a cluster; `None` if it is not that of a lab, or its clock is not adjustable.
    pub async fn find(client: &Client) -> Option<Self> {
        let objects = ObjectList::find(client, &ClockSpec::api_resource()).await?;
        let clock = Clock::adjustable(1.0);
        let mut changes = objects.changes();
        let read =
            |objects: &[Arc<DynamicObject>]| objects.first().map(|object| ClockStatus::of(object));
        let first = read(&changes.borrow_and_update()).unwrap_or_default();
        synchronize(&clock, &first.state);
        let sender = watch::Sender::new(Arc::new(clock_state(&first.state)));
        let state = sender.subscribe();
        let followed = clock.clone();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if let Some(status) = read(&changes.borrow_and_update()) {
                    synchronize(&followed, &status.state);
                    sender.send_replace(Arc::new(clock_state(&status.state)));
                }
            }
        });
        Some(Self {
            objects,
            clock,
            state,
            _task: AbortOnDropHandle::new(task),
        })
    }

    /// A clock with the lab time.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Changes the spec, and returns one sentence about the state then.
    ///
    /// # Errors
    /// The request failed or was rejected, or the lab does not answer.
    pub async fn request(&self, spec: serde_json::Value) -> Result<String, OperationError> {
        let object = self.objects.request(CLOCK, &spec).await?;
        let status = ClockStatus::of(&object);
        match status.error {
            Some(error) => Err(OperationError(error)),
            None => Ok(status.summary),
        }
    }
}

/// Sets the time of `clock` to that of a lab with this state.
fn synchronize(clock: &Clock, state: &LabClockState) {
    let now = state.now(Clock::real().now());
    clock.synchronize(now, state.speed, state.paused);
}

fn speed_text(speed: f64) -> String {
    format!("{speed} seconds of lab time per second")
}

#[async_trait]
impl ClockBackend for ClusterClock {
    fn changes(&self) -> watch::Receiver<Arc<ClockState>> {
        self.state.clone()
    }

    async fn set_speed(&self, speed: f64) -> Result<String, OperationError> {
        self.request(json!({"speed": speed})).await?;
        Ok(speed_text(speed))
    }

    async fn run_at(&self, speed: f64) -> Result<String, OperationError> {
        self.request(json!({"speed": speed, "paused": false}))
            .await?;
        Ok(speed_text(speed))
    }

    async fn set_paused(&self, paused: bool) -> Result<String, OperationError> {
        self.request(json!({"paused": paused, "until": null})).await
    }

    async fn run_until(&self, event: StopCondition) -> Result<String, OperationError> {
        self.request(json!({"paused": false, "until": event})).await
    }
}
