//! [`Explanation`]: everything the engine can say about one workload.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::Engine;
use super::report::{Place, QueueBlocker};
use crate::admission::cycle::{Decision, Progress};
use crate::admission::queue::Head;
use crate::admission::workload::{Info, WorkloadKey, adjust_resources, predicates};

/// Everything the engine can say about one workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its ClusterQueue, by its LocalQueue or its admission.
    pub cluster_queue: Option<Arc<str>>,
    /// Its effective priority.
    pub priority: i64,
    /// Where it waits.
    pub place: Option<Place>,
    /// Its place among the pending workloads of its ClusterQueue, from 0.
    pub position: Option<usize>,
    /// Why its queue keeps it from being looked at.
    pub blocker: Option<QueueBlocker>,
    /// What the last cycle that looked at it decided.
    pub last: Option<Arc<Decision>>,
    /// What a cycle with it as the only head would decide now; none when it holds quota.
    pub now: Option<Decision>,
}

impl Engine {
    /// Explains a workload. Nothing changes by it; the workload is looked at as if it were the only
    /// head of a cycle.
    pub fn explain(&mut self, key: &WorkloadKey, now: Timestamp) -> Option<Explanation> {
        let wl = self.store.workload(key)?.clone();
        let admission = wl.status.admission.as_ref();
        let queue: Option<Arc<str>> = match admission {
            Some(admission) => Some(admission.cluster_queue.as_str().into()),
            None => self.cluster_queue_of(&wl).map(|(name, _)| name.clone()),
        };
        let pending = queue.as_ref().and_then(|q| self.queues.pending(q));
        let info = match pending.and_then(|p| p.get(key)) {
            Some(info) => Info::clone(info),
            None => Info::new(adjust_resources(&wl, &self.world), &self.config),
        };
        let position = pending.and_then(|p| {
            let all = p.in_order(self.order_context());
            all.iter().position(|other| other.key == *key)
        });
        let priority = info.priority;
        let waits = !predicates::has_quota_reservation(&wl) && !predicates::is_finished(&wl);
        let verdict = queue.clone().filter(|_| waits).and_then(|queue| {
            let mut info = info;
            info.cluster_queue = queue;
            self.dry_run(info, now)
        });
        Some(Explanation {
            workload: key.clone(),
            cluster_queue: queue,
            priority,
            place: self.waits_in(key),
            position,
            blocker: self.queue_blocker(&wl).filter(|_| waits),
            last: self.decisions.get(key).cloned(),
            now: verdict,
        })
    }

    /// What a cycle would decide on a workload if it were the only head.
    fn dry_run(&mut self, info: Info, now: Timestamp) -> Option<Decision> {
        let expectations = self.expectations.clone();
        let head = Head {
            info,
            is_preemptor: false,
        };
        let mut open = self.run(now, |run| {
            run.nominate(vec![head]);
            run.process_rest();
            Progress::Done
        });
        self.expectations = expectations;
        open.settle(&Default::default());
        let mut entry = open.entries.pop().or_else(|| open.rejected.pop())?;
        let mut decision = entry.decision.take()?;
        decision.message = entry.message;
        decision.requeue_reason = entry.requeue_reason;
        Some(decision)
    }
}
