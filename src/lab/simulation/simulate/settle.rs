//! [`settle`]: runs scheduling cycles until nothing changes any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::{DriverEvent, EngineDriver};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::status::{condition, set_condition};
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// Rounds after which a state counts as one that does not settle, besides those of its workloads.
const MIN_ROUNDS: usize = 64;
/// Rounds for each workload: it can preempt, be preempted, be admitted again and wait for a deadline.
const ROUNDS_PER_WORKLOAD: usize = 4;
/// The same preemptor and target, this many times, are a loop.
pub(crate) const REPETITIONS: usize = 3;
/// Deadlines within this time belong to a change: batched retries, second passes, the end of backoffs.
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
        let backoffs = backoffs(driver).into_iter().map(|(at, _)| at);
        let deadline = driver.next_deadline().into_iter().chain(backoffs).min();
        *now = deadline.filter(|at| *at <= near)?.max(*now);
        requeue_after_backoff(driver, *now);
    }
    Some(events)
}

/// The workloads that wait for the end of their backoff, and when it ends.
fn backoffs(driver: &EngineDriver) -> Vec<(Timestamp, WorkloadKey)> {
    let gates = &driver.engine().config().gates;
    let workloads = driver.engine().workloads();
    let backoffs = workloads.filter_map(|wl| {
        let at = wl.status.requeue_state.as_ref()?.requeue_at.as_ref()?;
        predicates::is_admissible(wl, gates).then(|| (at.0, predicates::key(wl)))
    });
    backoffs.collect()
}

/// Requeues workloads whose backoff has ended, as the controller of Workloads does.
fn requeue_after_backoff(driver: &mut EngineDriver, now: Timestamp) {
    for (_, key) in backoffs(driver).into_iter().filter(|(at, _)| *at <= now) {
        let Some(wl) = driver.engine().workload(&key) else {
            continue;
        };
        let mut wl = Workload::clone(wl);
        if let Some(state) = &mut wl.status.requeue_state {
            state.requeue_at = None;
        }
        let (reason, message) = (
            c::requeued::BACKOFF_FINISHED,
            "The workload backoff was finished",
        );
        let requeued = condition(&wl, c::REQUEUED, true, reason, message, now);
        set_condition(&mut wl.status.conditions, requeued);
        driver.upsert_workload(Arc::new(wl), now);
    }
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
