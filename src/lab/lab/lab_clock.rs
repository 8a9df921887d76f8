//! [`LabClock`]: pauses lab time, sets its speed and runs it to an event, with the heads of a paused cycle.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::kueue_manager::CurrentController;
use kueue_lab_clock::{Clock, SPEED_RANGE};
use kueue_lab_controller::{ControllerContext, CycleGate, Stop};
use kueue_lab_controller_runtime::Context;
use kueue_lab_reason::{CycleHead, StopCondition};

/// The clock of a lab on an embedded cluster, for its users. Clones share it.
#[derive(Clone)]
pub struct LabClock {
    clock: Clock,
    gate: CycleGate,
    controller: Option<CurrentController>,
    state: watch::Sender<Arc<LabClockState>>,
    /// Held while the state is read and sent, so that an older one does not follow a newer one.
    updating: Arc<Mutex<()>>,
}

/// The state of a [`LabClock`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabClockState {
    /// Whether lab time stands still.
    pub paused: bool,
    /// Lab seconds per second while it does not.
    pub speed: f64,
    /// The event at which it will be paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<StopCondition>,
    /// The event at which it was paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<StopEvent>,
    /// Whether a scheduling cycle waits until it is resumed.
    pub cycle_waits: bool,
    /// While it is paused: the heads of the next cycle in their order, each with the decision if the cycle begins now.
    pub heads: Vec<CycleHead>,
    /// The lab time at the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// The wall clock at the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Timestamp>,
}

/// The event at which a clock was paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopEvent {
    /// The event.
    pub condition: StopCondition,
    /// The lab time.
    pub at: Timestamp,
    /// The Workload that was evicted or is finished, by namespace and name; none before a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
}

/// A clock that cannot do what is requested.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LabClockError {
    /// The speed is not accepted.
    #[error("not a speed: {0}; a speed is a number of lab seconds per second, from {min} to {max}, or 0 to pause",
        min = SPEED_RANGE.start(), max = SPEED_RANGE.end())]
    Speed(f64),
    /// No controller runs, so that no event is observed.
    #[error("this lab runs no admission controller, so that there is no {0} to run to")]
    NoController(StopCondition),
}

impl LabClock {
    /// The clock of `context`, whose controller has `gate`; `None` if it is not adjustable. Its tasks end with the
    /// context.
    pub(crate) fn start(
        context: &Context,
        gate: &CycleGate,
        controller: Option<CurrentController>,
    ) -> Option<Self> {
        let mut clock_changes = context.clock.changes()?;
        let this = Self {
            clock: context.clock.clone(),
            gate: gate.clone(),
            controller,
            state: watch::Sender::new(Arc::default()),
            updating: Arc::default(),
        };
        this.update_state();
        let (followed, mut gate_changes) = (this.clone(), gate.subscribe());
        context.tasks.spawn("lab-clock", async move {
            loop {
                // Before the state is read, so that no change is lost.
                let engine_changes = followed.controller().map(|shared| shared.engine_changes());
                clock_changes.mark_unchanged();
                gate_changes.mark_unchanged();
                followed.update_state();
                let heads_may_change = async {
                    match engine_changes.filter(|_| followed.clock.is_paused()) {
                        Some(mut changes) => changes.changed().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = clock_changes.changed() => {}
                    // The sender lives as long as this clock.
                    _ = gate_changes.changed() => {}
                    () = heads_may_change => {}
                }
            }
        });
        Some(this)
    }

    /// Stops lab time, and with it everything that runs on the lab; requests are still served.
    pub fn pause(&self) {
        self.gate.withdraw();
        self.clock.pause();
        self.update_state();
    }

    /// Continues lab time.
    pub fn resume(&self) {
        self.gate.withdraw();
        self.clock.resume();
        self.update_state();
    }

    /// Sets the speed in lab seconds per second; a paused clock stays paused. At 0 the clock is paused.
    ///
    /// # Errors
    /// [`LabClockError::Speed`].
    pub fn set_speed(&self, speed: f64) -> Result<(), LabClockError> {
        if speed == 0.0 {
            self.pause();
            return Ok(());
        }
        if !SPEED_RANGE.contains(&speed) {
            return Err(LabClockError::Speed(speed));
        }
        self.clock.set_speed(speed);
        self.update_state();
        Ok(())
    }

    /// Continues lab time until an event. A scheduling cycle that waits already runs first if the next cycle is
    /// requested, or if the clock was paused before it by an earlier request.
    ///
    /// # Errors
    /// [`LabClockError::NoController`].
    pub fn run_until(&self, condition: StopCondition) -> Result<(), LabClockError> {
        if self.controller.is_none() {
            return Err(LabClockError::NoController(condition));
        }
        self.gate.run_until(condition, &self.clock);
        self.update_state();
        Ok(())
    }

    /// The state, with each of its changes.
    pub fn changes(&self) -> watch::Receiver<Arc<LabClockState>> {
        self.state.subscribe()
    }

    /// The time line.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    fn controller(&self) -> Option<ControllerContext> {
        let controller = self.controller.as_ref()?;
        Some(controller.get().shared().clone())
    }

    fn update_state(&self) {
        let _updating = self.updating.lock();
        let state = self.read_state();
        self.state.send_if_modified(|last| {
            let is_changed = state.differs_from(last);
            if is_changed {
                *last = Arc::new(state);
            }
            is_changed
        });
    }

    fn read_state(&self) -> LabClockState {
        let paused = self.clock.is_paused();
        let gate = self.gate.subscribe().borrow().clone();
        let heads = self.controller().filter(|_| paused);
        LabClockState {
            paused,
            speed: self.clock.speed(),
            until: gate.until,
            stopped_at: gate.stopped.map(StopEvent::from),
            cycle_waits: gate.cycle_waits,
            heads: heads
                .map(|shared| shared.next_cycle_heads())
                .unwrap_or_default(),
            time: Some(self.clock.now()),
            wall_time: Some(Clock::real().now()),
        }
    }
}

impl From<Stop> for StopEvent {
    fn from(stop: Stop) -> Self {
        Self {
            condition: stop.condition,
            at: stop.at,
            workload: stop.workload.map(|key| key.to_string()),
        }
    }
}

impl LabClockState {
    /// Whether it is not what the other state becomes by itself: the time of a running clock passes.
    fn differs_from(&self, other: &Self) -> bool {
        let at_pause = |state: &Self| Self {
            time: state.time.filter(|_| state.paused),
            wall_time: None,
            ..state.clone()
        };
        at_pause(self) != at_pause(other)
    }

    /// The lab time at a time of the wall clock.
    pub fn now(&self, wall_time: Timestamp) -> Timestamp {
        let (Some(time), Some(read_at)) = (self.time, self.wall_time) else {
            return wall_time;
        };
        let passed = wall_time.duration_since(read_at).as_secs_f64() * self.speed;
        let passed = SignedDuration::try_from_secs_f64(passed).unwrap_or_default();
        match self.paused {
            true => time,
            false => time.checked_add(passed).unwrap_or(time),
        }
    }

    /// One sentence about the state.
    pub fn text(&self) -> String {
        match (self.paused, &self.stopped_at, self.until) {
            (
                true,
                Some(StopEvent {
                    condition,
                    workload: None,
                    ..
                }),
                _,
            ) => match condition {
                StopCondition::Cycle => "paused before the next scheduling cycle".to_owned(),
                condition => format!("paused before the cycle of the next {condition}"),
            },
            (
                true,
                Some(StopEvent {
                    condition,
                    workload: Some(workload),
                    ..
                }),
                _,
            ) => {
                format!("paused at the {condition} of {workload}")
            }
            (true, None, _) if self.cycle_waits => "paused, a scheduling cycle waits".to_owned(),
            (true, None, _) => "paused".to_owned(),
            (false, _, Some(StopCondition::Cycle)) => {
                "runs to the next scheduling cycle".to_owned()
            }
            (false, _, Some(condition)) => format!("runs to the next {condition}"),
            (false, _, None) => format!("runs at speed {}", self.speed),
        }
    }
}
