//! The timers of the engine: backoffs, penalties and other deadlines that elapse without an event.

use super::scheduling_loop::wait_for_engine_change;
use crate::ControllerContext;

/// Lets the engine do in time what is due.
pub(super) async fn run_engine_timers(shared: &ControllerContext) {
    let mut changes = shared.engine_changes();
    loop {
        changes.mark_unchanged();
        let now = shared.now();
        let (moved, next) = {
            let mut engine = shared.engine();
            let moved = engine.advance(now);
            (moved, engine.next_deadline())
        };
        if moved > 0 {
            shared.wake_scheduler();
            continue;
        }
        wait_for_engine_change(shared, &mut changes, next).await;
    }
}
