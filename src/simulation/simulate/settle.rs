//! [`settle`]: runs scheduling cycles until nothing changes any more.

use jiff::{SignedDuration, Timestamp};

use crate::{DriverEvent, EngineDriver};
use kueue_lab_admission::workload::{WorkloadKey, predicates};

/// Rounds after which a state counts as one that does not settle, such as a loop of preemptions.
const MAX_ROUNDS: usize = 64;
/// Deadlines of the engine within this time belong to a change: batched retries, second passes.
const NEAR: SignedDuration = SignedDuration::from_secs(30);

/// Runs scheduling cycles until nothing changes. Evicted workloads release their quota at once, and the
/// time advances to near deadlines. Returns what changed, or `None` if the state does not settle.
pub(super) fn settle(driver: &mut EngineDriver, now: &mut Timestamp) -> Option<Vec<DriverEvent>> {
    let mut all = Vec::new();
    for _ in 0..MAX_ROUNDS {
        match settle_round(driver, now) {
            Some(events) => all.extend(events),
            None => return Some(all),
        }
    }
    None
}

/// One round of it; `None` if nothing changes and no deadline is near.
pub(crate) fn settle_round(
    driver: &mut EngineDriver,
    now: &mut Timestamp,
) -> Option<Vec<DriverEvent>> {
    let events = driver.schedule(*now);
    let evicted = terminating(driver);
    let is_quiet = events.is_empty() && evicted.is_empty();
    for key in evicted {
        driver.release(&key, *now);
    }
    if is_quiet {
        let near = now.saturating_add(NEAR).unwrap_or(Timestamp::MAX);
        let deadline = driver.next_deadline().filter(|at| *at <= near)?;
        *now = deadline.max(*now);
    }
    Some(events)
}

/// The evicted workloads that still hold quota.
fn terminating(driver: &EngineDriver) -> Vec<WorkloadKey> {
    let workloads = driver.engine().workloads();
    let evicted = workloads.filter(|wl| {
        predicates::is_evicted(wl)
            && predicates::has_quota_reservation(wl)
            && !predicates::is_finished(wl)
    });
    evicted.map(|wl| predicates::key(wl)).collect()
}
