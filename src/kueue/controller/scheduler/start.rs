//! Starts the scheduler.

use super::{engine_timers, scheduling_loop};
use crate::ControllerContext;

/// Starts the scheduling loop and the timers of the engine.
pub(crate) fn start(shared: &ControllerContext) {
    let s = shared.clone();
    shared.ctx.tasks.spawn("engine-timers", async move {
        engine_timers::run_engine_timers(&s).await
    });
    let s = shared.clone();
    shared.ctx.tasks.spawn("scheduler", async move {
        scheduling_loop::run_scheduling_loop(&s).await
    });
}
