//! The scheduler: runs the engine's cycles and writes what they decide.
//!
//! Knows nothing of how decisions are made. A cycle starts when a queue has a head; one that gave
//! nobody quota is followed by the next one only after a little while, which grows up to 10 ms.

mod apply_action;
mod cycle_backoff;
mod engine_timers;
mod scheduling_loop;

use super::ControllerContext;

/// Starts the scheduler and the timers of the engine.
pub fn start(shared: &ControllerContext) {
    let s = shared.clone();
    shared.ctx.tasks.spawn("engine-timers", async move {
        engine_timers::run_engine_timers(&s).await
    });
    let s = shared.clone();
    shared.ctx.tasks.spawn("scheduler", async move {
        scheduling_loop::run_scheduling_loop(&s).await
    });
}
