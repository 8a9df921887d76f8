//! Workloads that reserve quota and need a second pass, each after an exponential delay.
//!
//! Must not depend on ClusterQueues. Timers are data; the caller advances the time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::config::EngineConfig;
use crate::workload::{Info, WorkloadKey, predicates};
use kueue_lab_api::v1beta2::Workload;

const INITIAL_DELAY_SECONDS: i64 = 1;
const MAX_DELAY_SECONDS: i64 = 30;

#[derive(Clone, Debug)]
struct Timer {
    due: Timestamp,
    workload: Arc<Workload>,
    iteration: u32,
}

/// Workloads that need a second pass.
#[derive(Clone, Debug, Default)]
pub struct SecondPassQueue {
    prequeued: BTreeSet<WorkloadKey>,
    timers: Vec<Timer>,
    ready: BTreeMap<WorkloadKey, Arc<Info>>,
}

impl SecondPassQueue {
    /// Prequeues a workload that needs a second pass, with its delay; false when it does not need
    /// one, or is prequeued already. A workload that no longer needs a second pass is dropped.
    pub fn queue_if_needed(&mut self, wl: &Arc<Workload>, iteration: u32, now: Timestamp) -> bool {
        if !predicates::needs_second_pass(wl) {
            if iteration > 0 {
                self.delete(&predicates::key(wl));
            }
            return false;
        }
        if !self.prequeued.insert(predicates::key(wl)) {
            return false;
        }
        let iteration = iteration.saturating_add(1);
        let delay = INITIAL_DELAY_SECONDS
            .checked_shl(iteration - 1)
            .unwrap_or(MAX_DELAY_SECONDS);
        let delay =
            SignedDuration::from_secs(delay.clamp(INITIAL_DELAY_SECONDS, MAX_DELAY_SECONDS));
        let due = now.saturating_add(delay).unwrap_or(Timestamp::MAX);
        self.timers.push(Timer {
            due,
            workload: wl.clone(),
            iteration,
        });
        true
    }

    /// Advances the time; true when a workload became ready.
    pub fn advance(&mut self, now: Timestamp, config: &EngineConfig) -> bool {
        let timers = std::mem::take(&mut self.timers).into_iter();
        let (mut due, workloads): (Vec<Timer>, Vec<Timer>) = timers.partition(|t| t.due <= now);
        self.timers = workloads;
        due.sort_by_key(|t| t.due);
        let mut any = false;
        for timer in due {
            let key = predicates::key(&timer.workload);
            if self.prequeued.remove(&key) && predicates::needs_second_pass(&timer.workload) {
                let mut info = Info::new(timer.workload, config);
                info.second_pass_iteration = timer.iteration;
                self.ready.insert(key, Arc::new(info));
                any = true;
            }
        }
        any
    }

    /// The time at which the next workload becomes ready.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.timers.iter().map(|t| t.due).min()
    }

    /// Takes the ready workloads.
    pub fn take_all_ready(&mut self) -> Vec<Arc<Info>> {
        std::mem::take(&mut self.ready).into_values().collect()
    }

    /// Whether a workload is ready.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Deletes a workload.
    pub fn delete(&mut self, key: &WorkloadKey) {
        self.ready.remove(key);
        self.prequeued.remove(key);
    }
}
