//! The scheduler: runs scheduling cycles of the engine and applies their actions.
//!
//! A cycle starts when a ClusterQueue has a head. After a cycle that reserved no quota the next one
//! is delayed, by up to 10 ms.

mod apply_action;
mod cycle_backoff;
mod engine_timers;
mod scheduling_loop;

use super::ControllerContext;

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
