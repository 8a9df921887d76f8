//! The timers of the engine: backoffs, penalties and other deadlines that elapse without an event.

use super::scheduling_loop::wait_for_engine_change;
use crate::ControllerContext;

/// Advances the engine at its deadlines, until the task is cancelled.
pub(super) async fn run_engine_timers(shared: &ControllerContext) {
    let mut changes = shared.engine_changes();
    loop {
        changes.mark_seen();
        let now = shared.now();
        let (advanced, next) = {
            let mut engine = shared.engine();
            let advanced = engine.advance(now);
            (advanced, engine.next_deadline())
        };
        if advanced > 0 {
            shared.wake_scheduler();
            continue;
        }
        wait_for_engine_change(shared, &mut changes, next).await;
    }
}
