//! [`settle`]: runs scheduling cycles until nothing changes any more.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::{DriverEvent, EngineDriver};
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// Rounds after which a state counts as one that does not settle, besides those of its workloads.
const MIN_ROUNDS: usize = 64;
/// Rounds for each workload: it can preempt, be preempted, be admitted again and wait for a deadline.
const ROUNDS_PER_WORKLOAD: usize = 4;
/// The same preemptor and target, this many times, are a loop.
pub(crate) const REPETITIONS: usize = 3;
/// Deadlines of the engine within this time belong to a change: batched retries, second passes.
const NEAR: SignedDuration = SignedDuration::from_secs(30);

/// A preemption that repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepeatedPreemption {
    /// The workload that preempts.
    pub preemptor: WorkloadKey,
    /// The workload that is preempted, and admitted again.
    pub target: WorkloadKey,
}

/// A state that does not settle.
#[derive(Clone, Debug)]
pub(super) struct Unsettled {
    /// The changes until then.
    pub(super) events: Vec<DriverEvent>,
    /// The preemption that repeats; none if the limit of rounds was reached without one.
    pub(super) repeated: Option<RepeatedPreemption>,
}

/// Runs scheduling cycles until nothing changes. Evicted workloads release their quota at once, and the
/// time advances to near deadlines. Returns what changed.
///
/// # Errors
/// The state does not settle: a preemption repeats, or there are too many rounds.
pub(super) fn settle(
    driver: &mut EngineDriver,
    now: &mut Timestamp,
) -> Result<Vec<DriverEvent>, Unsettled> {
    let rounds = MIN_ROUNDS + ROUNDS_PER_WORKLOAD * driver.engine().workloads().count();
    let mut preemptions: BTreeMap<(WorkloadKey, WorkloadKey), usize> = BTreeMap::new();
    let mut all = Vec::new();
    for _ in 0..rounds {
        let Some(events) = settle_round(driver, now) else {
            return Ok(all);
        };
        let repeated = events.iter().find_map(|event| match event {
            DriverEvent::Evicted {
                workload: target,
                preemptor: Some(preemptor),
                ..
            } => {
                let pair = (preemptor.clone(), target.clone());
                let count = preemptions.entry(pair).or_default();
                *count += 1;
                (*count >= REPETITIONS).then(|| RepeatedPreemption {
                    preemptor: preemptor.clone(),
                    target: target.clone(),
                })
            }
            _ => None,
        });
        all.extend(events);
        if repeated.is_some() {
            return Err(Unsettled {
                events: all,
                repeated,
            });
        }
    }
    Err(Unsettled {
        events: all,
        repeated: None,
    })
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
