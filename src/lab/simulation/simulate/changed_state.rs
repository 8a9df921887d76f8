//! [`ChangedState`]: a state of a cluster in which changes are tried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::live_versions::live_versions;
use super::preempted_workload::PreemptedWorkload;
use super::settle::settle;
use crate::{DriverEvent, EngineDriver};
use kueue_lab_api::v1beta2::{QueueingStrategy, Workload};
use kueue_lab_engine::Engine;
use kueue_lab_engine::cycle::Decision;
use kueue_lab_engine::engine::{DeletedObject, ObjectChange};
use kueue_lab_engine::resources::Requests;
use kueue_lab_engine::workload::predicates;

/// A state in which changes are tried out.
pub(super) struct ChangedState<'a> {
    /// The settled state, without the workloads that the cluster does not have.
    pub(super) base: EngineDriver,
    pub(super) workloads: &'a [Arc<Workload>],
    pub(super) now: Timestamp,
}

/// A stable state with the workloads and a change.
struct Settled {
    driver: EngineDriver,
    now: Timestamp,
    /// The changes since the workloads were added.
    events: Vec<DriverEvent>,
}

impl<'a> ChangedState<'a> {
    /// The state of a cluster.
    pub(super) fn new(
        live: &Engine,
        pods_ready: bool,
        workloads: &'a [Arc<Workload>],
        now: Timestamp,
    ) -> Self {
        let mut base = EngineDriver::new(live.clone(), pods_ready);
        let mut at = now;
        for key in live_versions(live, workloads) {
            base.engine_mut().apply(
                ObjectChange::Delete(DeletedObject::Workload(key.clone())),
                now,
            );
        }
        // If it does not settle, the changes are tried out in the state until then.
        let _ = settle(&mut base, &mut at);
        Self {
            base,
            workloads,
            now: at,
        }
    }

    /// The ClusterQueue of a workload: of its admission, or of its LocalQueue.
    pub(super) fn cluster_queue_of(&self, wl: &Workload) -> Option<String> {
        if let Some(admission) = &wl.status.admission {
            return Some(admission.cluster_queue.clone());
        }
        let queue = self.base.engine().cluster_queue_of(wl);
        queue.map(|(queue, _)| queue.to_string())
    }

    /// The ClusterQueues of the workloads, with their total requests in each.
    pub(super) fn requests_by_queue(&self) -> BTreeMap<String, Requests> {
        let mut queues: BTreeMap<String, Requests> = BTreeMap::new();
        for wl in self.workloads {
            if let Some(queue) = self.cluster_queue_of(wl) {
                let requests = self.base.engine().total_requests(wl);
                queues.entry(queue).or_default().add(&requests);
            }
        }
        queues
    }

    /// Whether a ClusterQueue of the workloads is StrictFIFO.
    pub(super) fn has_strict_queue(&self) -> bool {
        let queues = self.requests_by_queue().into_keys();
        let mut queues = queues.filter_map(|queue| self.base.engine().cluster_queue(&queue));
        queues.any(|queue| queue.spec.queueing_strategy == Some(QueueingStrategy::StrictFIFO))
    }

    /// The ClusterQueues with which those of the workloads share quota, and themselves.
    pub(super) fn tree_of_workloads(&self) -> BTreeSet<String> {
        let queues = self.requests_by_queue().into_keys();
        queues
            .flat_map(|queue| tree_of(self.base.engine(), &queue))
            .collect()
    }

    /// The flavors of the resources that the workloads request.
    pub(super) fn flavors_of_workloads(&self) -> BTreeSet<String> {
        let mut flavors = BTreeSet::new();
        for (queue, requests) in self.requests_by_queue() {
            let queue = self.base.engine().cluster_queue(&queue);
            let groups = queue.map(|queue| &queue.spec.resource_groups);
            for group in groups.into_iter().flatten() {
                let mut covered = group.covered_resources.iter();
                let is_requested = |name: &String| {
                    name == "pods" || requests.iter().any(|(r, _)| r.as_str() == name)
                };
                if covered.any(is_requested) {
                    flavors.extend(group.flavors.iter().map(|flavor| flavor.name.clone()));
                }
            }
        }
        flavors
    }

    /// Whether the workloads are admitted after changes of the state and of the workloads, and stay so.
    pub(super) fn admits(
        &self,
        change: impl FnOnce(&mut EngineDriver, Timestamp),
        adapt: impl Fn(&mut Workload),
    ) -> bool {
        self.preemptions_if_admitted(change, adapt).is_some()
    }

    /// The preemptions with which the workloads are admitted after changes of the state and of the workloads;
    /// `None` if they are not admitted, or do not stay so.
    pub(super) fn preemptions_if_admitted(
        &self,
        change: impl FnOnce(&mut EngineDriver, Timestamp),
        adapt: impl Fn(&mut Workload),
    ) -> Option<Vec<PreemptedWorkload>> {
        let settled = self.settled(change, adapt)?;
        let mut workloads = self.workloads.iter();
        let admitted = workloads.all(|wl| is_admitted(&settled.driver, wl));
        admitted.then(|| PreemptedWorkload::of_events(settled.events))
    }

    /// The decisions on the workloads that stay pending after a change of the state; none if it does not
    /// settle.
    pub(super) fn pending_decisions(
        &self,
        change: impl FnOnce(&mut EngineDriver, Timestamp),
    ) -> Vec<Decision> {
        let Some(settled) = self.settled(change, |_| {}) else {
            return Vec::new();
        };
        let Settled {
            mut driver, now, ..
        } = settled;
        let pending: Vec<_> = self
            .workloads
            .iter()
            .filter(|wl| !is_admitted(&driver, wl))
            .map(|wl| predicates::key(wl))
            .collect();
        let decisions = pending
            .iter()
            .filter_map(|key| driver.engine_mut().explain(key, now)?.now);
        decisions.collect()
    }

    /// The state with the workloads and the changes, if it settles.
    fn settled(
        &self,
        change: impl FnOnce(&mut EngineDriver, Timestamp),
        adapt: impl Fn(&mut Workload),
    ) -> Option<Settled> {
        let mut driver = self.base.clone();
        let mut now = self.now;
        for wl in self.workloads {
            // Another workload may have been admitted only because this one waits.
            let live = driver.engine().workload(&predicates::key(wl));
            let mut changed = Workload::clone(live.unwrap_or(wl));
            adapt(&mut changed);
            if live.is_none_or(|live| **live != changed) {
                driver.upsert_workload(Arc::new(changed), now);
            }
        }
        let mut events = settle(&mut driver, &mut now).ok()?;
        change(&mut driver, now);
        events.extend(settle(&mut driver, &mut now).ok()?);
        Some(Settled {
            driver,
            now,
            events,
        })
    }
}

fn is_admitted(driver: &EngineDriver, wl: &Workload) -> bool {
    let wl = driver.engine().workload(&predicates::key(wl));
    wl.is_some_and(|wl| predicates::is_admitted(wl))
}

/// The ClusterQueues of the cohort tree of a ClusterQueue, by name.
pub(super) fn tree_of(engine: &Engine, queue: &str) -> Vec<String> {
    let cohorts = engine.cache().workload_ancestors(queue).unwrap_or_default();
    let Some(root) = cohorts.last() else {
        return vec![queue.to_owned()];
    };
    let all = engine.cache().cluster_queues().map(|other| &other.name);
    let in_tree = all.filter(|other| {
        let path = engine.cache().workload_ancestors(other);
        path.is_ok_and(|path| path.last() == Some(root))
    });
    in_tree.map(ToString::to_string).collect()
}

/// The Cohorts of the cohort tree of a ClusterQueue, by name.
pub(super) fn cohorts_of_tree(engine: &Engine, queue: &str) -> Vec<String> {
    let hierarchy = &engine.cache().hierarchy;
    let node = engine.cache().node_of(queue);
    let Some(root) = node.map(|node| hierarchy.root(node)) else {
        return Vec::new();
    };
    let in_tree = hierarchy
        .cohorts()
        .filter(|&cohort| !hierarchy.has_cycle(cohort) && hierarchy.root(cohort) == root);
    in_tree
        .map(|cohort| hierarchy[cohort].name.to_string())
        .collect()
}
