//! CrashLoopBackOff: the delay before a container is restarted.

use std::time::Duration;

/// Initial delay; it doubles with every restart.
const INITIAL_BACKOFF: Duration = Duration::from_secs(10);
/// Maximum delay.
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// A container that ran this long resets its back-off.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(600);

/// The delay before the next restart of a container that was restarted this often and ran that
/// long.
pub(super) fn crash_loop_backoff(restarts: i32, ran: Duration) -> Duration {
    let doublings = u32::try_from(restarts - 1).unwrap_or(0).min(16);
    if restarts == 0 || ran > BACKOFF_RESET_AFTER {
        Duration::ZERO
    } else {
        (INITIAL_BACKOFF * 2u32.pow(doublings)).min(MAX_BACKOFF)
    }
}
