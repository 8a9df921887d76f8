//! [`Controllers`]: the engine with a stand-in for the controllers around it and for the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kueue_lab::admission::Engine;
use kueue_lab::admission::EngineConfig;
use kueue_lab::admission::config::FairSharing;
use kueue_lab::admission::cycle::{Action, ActionKind, Outcome};
use kueue_lab::admission::messages::{Event, EventType};
use kueue_lab::admission::status::{
    Eviction, StatusChange, condition, evict, finish, set_condition, sync_admitted, unreserve_quota,
};
use kueue_lab::admission::workload::{WorkloadKey, predicates};
use kueue_lab::api::constants as c;
use kueue_lab::api::v1beta2::{PriorityClassRef, StopPolicy, Workload};

use super::owners::{Owner, RoleNames};

/// So many rounds without rest are a livelock.
const MOST_ROUNDS: usize = 1000;
/// So many rounds in which nothing changes are rest, though there are heads.
const MOST_IDLE: usize = 20;

pub struct Controllers<'a> {
    pub engine: Engine,
    pub now: Timestamp,
    pub owners: BTreeMap<String, Owner>,
    /// The owners of Workloads.
    pub owner_of: BTreeMap<WorkloadKey, String>,
    pub classes: BTreeMap<String, i64>,
    /// What Workloads are called in outcomes, by name; also of those that are gone.
    pub called: BTreeMap<String, String>,
    pub events: Vec<Event>,
    /// What was told of a version of a Workload; the same again is not seen.
    told: BTreeSet<(WorkloadKey, String, String, String)>,
    writes: u64,
    /// Whether to print what happens.
    trace: bool,
    pub roles: &'a RoleNames,
}

impl<'a> Controllers<'a> {
    pub fn new(fair_sharing: bool, roles: &'a RoleNames) -> Self {
        Controllers {
            engine: Engine::new(EngineConfig {
                fair_sharing: fair_sharing.then(FairSharing::default),
                ..Default::default()
            }),
            now: "2026-08-01T12:00:00Z".parse().unwrap(),
            owners: BTreeMap::new(),
            owner_of: BTreeMap::new(),
            classes: BTreeMap::new(),
            called: BTreeMap::new(),
            events: Vec::new(),
            told: BTreeSet::new(),
            writes: 0,
            trace: std::env::var_os("KUEUE_LAB_TRACE").is_some(),
            roles,
        }
    }

    /// Now, as objects keep it: in whole seconds.
    pub fn stamp(&self) -> Timestamp {
        Timestamp::from_second(self.now.as_second()).unwrap()
    }

    /// Goes on to the next step, a little after a full second.
    pub fn next_step(&mut self) {
        self.now = self.stamp() + SignedDuration::from_millis(1_200);
    }

    /// Creates a Job or pods with their Workload.
    pub fn create(&mut self, owner: Owner) {
        let wl = owner.workload(&self.classes, self.roles, self.stamp());
        let key = predicates::key(&wl);
        if !owner.key.starts_with("PodGroup/") {
            let called = format!("<{}>", owner.key);
            self.called.insert(owner.workload_name(), called);
        }
        self.owner_of.insert(key, owner.key.clone());
        self.owners.insert(owner.key.clone(), owner);
        self.engine.upsert_workload(Arc::new(wl), self.now);
    }

    /// The Workload of an owner.
    pub fn workload(&self, owner: &str) -> Option<&Arc<Workload>> {
        let (key, _) = self.owner_of.iter().find(|(_, o)| *o == owner)?;
        self.engine.workload(key)
    }

    /// Deletes an owner and its Workload.
    ///
    /// The pods of a group stay until the group is complete again or all of it goes, and its
    /// Workload as it is.
    pub fn delete(&mut self, owner: &str) {
        if owner.starts_with("PodGroup/") {
            return;
        }
        self.owners.remove(owner);
        let keys: Vec<WorkloadKey> = self
            .owner_of
            .iter()
            .filter(|(_, o)| *o == owner)
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            self.owner_of.remove(&key);
            self.engine.delete_workload(&key, self.now);
        }
    }

    /// Changes a Workload. True when anything changed.
    pub fn write(&mut self, key: &WorkloadKey, change: impl FnOnce(&mut Workload)) -> bool {
        let Some(old) = self.engine.workload(key).cloned() else {
            return false;
        };
        let mut new = Workload::clone(&old);
        change(&mut new);
        if new == *old {
            return false;
        }
        self.writes += 1;
        new.metadata.resource_version = Some(self.writes.to_string());
        self.engine.upsert_workload(Arc::new(new), self.now);
        true
    }

    /// Lets everything happen that follows, also what takes a few seconds. False when it does not
    /// come to rest.
    pub fn settle(&mut self, until: Timestamp) -> bool {
        let mut idle = 0;
        for _ in 0..MOST_ROUNDS {
            let moved = self.engine.advance(self.now);
            if self.trace && moved > 0 {
                println!("    {} {moved} retried", self.now);
            }
            let mut busy = moved > 0;
            busy |= self.reconcile();
            busy |= self.cycle();
            idle = if busy { 0 } else { idle + 1 };
            // The head of a strict queue comes back for ever.
            if busy || (self.engine.has_heads() && idle < MOST_IDLE) {
                continue;
            }
            match self.engine.next_deadline() {
                Some(due) if due <= until => self.now = self.now.max(due),
                _ => {
                    self.now = self.now.max(until);
                    return true;
                }
            }
        }
        false
    }

    /// Runs one cycle and writes what it decides. True when anything came of it.
    fn cycle(&mut self) -> bool {
        let Some(open) = self.engine.begin_cycle(self.now) else {
            return false;
        };
        let mut busy = false;
        for action in open.actions.clone() {
            busy |= self.carry_out(&action);
        }
        let outcomes = open.actions.iter().map(|a| (a.id, Outcome::Done)).collect();
        let cycle = self.engine.finish_cycle(open, &outcomes, self.now);
        for action in &cycle.actions {
            busy |= self.carry_out(action);
        }
        if self.trace {
            for d in &cycle.decisions {
                println!("    {} {:?} {}", d.workload, d.status, d.message);
            }
        }
        busy | cycle.progress
    }

    fn carry_out(&mut self, action: &Action) -> bool {
        let (now, gates) = (self.stamp(), self.engine.config().gates.clone());
        let mut busy = false;
        if let Some(StatusChange::Unreserve { reason, .. }) = &action.change
            && reason.is_empty()
        {
            // No API server takes a condition without a reason, so that nothing comes of it.
            return false;
        }
        if action.kind == ActionKind::Requeue {
            // These are told of the version before.
            action.events.iter().for_each(|e| self.tell(e.clone()));
        }
        if let Some(change) = &action.change {
            busy = self.write(&action.workload, |wl| {
                change.apply(wl, now, &gates);
            });
        }
        if action.kind != ActionKind::Requeue {
            action.events.iter().for_each(|e| self.tell(e.clone()));
        }
        if let Some(then) = &action.then {
            busy |= self.carry_out(then);
        }
        busy
    }

    /// Tells an Event. One like it on the same version of a Workload is only counted, as the
    /// recorder of Events does.
    fn tell(&mut self, event: Event) {
        let wl = self.engine.workload(&event.workload);
        let version = wl.and_then(|wl| wl.metadata.resource_version.clone());
        let about = (
            event.workload.clone(),
            version.unwrap_or_default(),
            event.reason.clone(),
            event.action.clone(),
        );
        if self.told.insert(about) {
            self.events.push(event);
        }
    }

    /// Lets the controllers look at every Workload and its owner. True when anything changed.
    fn reconcile(&mut self) -> bool {
        let keys: Vec<WorkloadKey> = self.owner_of.keys().cloned().collect();
        let mut busy = false;
        for key in keys {
            while self.reconcile_workload(&key) {
                busy = true;
            }
            busy |= self.reconcile_owner(&key);
        }
        busy
    }

    fn evict(&mut self, key: &WorkloadKey, reason: &str, message: &str) -> bool {
        let now = self.stamp();
        let eviction = Eviction::new(reason, message);
        let uid = format!("<uid:{}>", self.owner_of[key]);
        let written = self.write(key, |wl| {
            evict(wl, &eviction, now);
        });
        // One that holds nothing is not told of.
        let held = self
            .engine
            .workload(key)
            .is_some_and(|wl| wl.status.admission.is_some());
        if held {
            let (type_, reason) = (EventType::Normal, eviction.event_reason());
            self.tell(Event::new(
                key.clone(),
                &uid,
                type_,
                reason,
                eviction.message,
            ));
        }
        written
    }

    /// What the Workload controller does. True when it wrote.
    fn reconcile_workload(&mut self, key: &WorkloadKey) -> bool {
        let (now, gates) = (self.stamp(), self.engine.config().gates.clone());
        let Some(wl) = self.engine.workload(key).cloned() else {
            return false;
        };
        if predicates::is_finished(&wl) {
            return false;
        }
        let requeued = predicates::false_condition(&wl, c::REQUEUED).map(|c| c.reason.clone());
        let requeue = |this: &mut Self, reason: &str, message: &str| {
            this.write(key, |wl| {
                let cond = condition(wl, c::REQUEUED, true, reason, message, now);
                set_condition(&mut wl.status.conditions, cond);
            })
        };
        let stopped = |s: &Option<StopPolicy>| s.unwrap_or(StopPolicy::None) != StopPolicy::None;
        let lq = self.engine.local_queue(&predicates::local_queue_key(&wl));
        let lq = lq.map(|q| q.spec.stop_policy);
        let cq = self
            .engine
            .cluster_queue_of(&wl)
            .map(|(name, _)| name.clone());
        let admitted_by = wl
            .status
            .admission
            .as_ref()
            .map(|a| a.cluster_queue.as_str());
        let cq_policy = |name: &str| {
            let cq = self.engine.cluster_queue(name);
            cq.map(|q| q.spec.stop_policy)
        };
        let pending_policy = cq.as_deref().and_then(cq_policy);
        let admitting_policy = admitted_by.and_then(cq_policy);
        if !wl.spec.is_active() {
            if !predicates::is_evicted(&wl) {
                return self.evict(key, c::evicted::DEACTIVATED, "The workload is deactivated");
            }
        } else if requeued.as_deref() == Some(c::evicted::DEACTIVATED) {
            return requeue(self, "Reactivated", "The workload was reactivated");
        }
        if lq.as_ref().is_some_and(|p| !stopped(p))
            && requeued.as_deref() == Some("LocalQueueStopped")
        {
            let message = "The LocalQueue was restarted after being stopped";
            return requeue(self, "LocalQueueRestarted", message);
        }
        if pending_policy.as_ref().is_some_and(|p| !stopped(p))
            && requeued.as_deref() == Some("ClusterQueueStopped")
        {
            let message = "The ClusterQueue was restarted after being stopped";
            return requeue(self, "ClusterQueueRestarted", message);
        }
        if !predicates::is_admitted(&wl) {
            let unreserved = self.engine.unreserved_condition(&wl);
            let reserved = predicates::has_quota_reservation(&wl);
            return self.write(key, |wl| {
                if let Some((reason, message)) = unreserved.filter(|_| !reserved) {
                    unreserve_quota(wl, &reason, &message, now, &gates);
                }
                sync_admitted(wl, now, &gates);
            });
        }
        if predicates::is_evicted(&wl) {
            return false;
        }
        let drains = |p: Option<Option<StopPolicy>>| p.flatten() == Some(StopPolicy::HoldAndDrain);
        if drains(lq) {
            return self.evict(key, "LocalQueueStopped", "The LocalQueue is stopped");
        }
        if drains(admitting_policy) {
            return self.evict(key, "ClusterQueueStopped", "The ClusterQueue is stopped");
        }
        false
    }

    /// What the controller of the Job or pods does, and what the cluster does with them.
    fn reconcile_owner(&mut self, key: &WorkloadKey) -> bool {
        let (now, gates) = (self.stamp(), self.engine.config().gates.clone());
        let Some(wl) = self.engine.workload(key).cloned() else {
            return false;
        };
        let owner_key = self.owner_of[key].clone();
        let Some(owner) = self.owners.get_mut(&owner_key) else {
            return false;
        };
        if predicates::is_finished(&wl) {
            return false;
        }
        if owner.done {
            return self.write(key, |wl| {
                finish(wl, "Succeeded", "Job finished successfully", now);
            });
        }
        let cond = wl.condition(c::EVICTED).filter(|c| c.status == "True");
        if let Some(cond) = cond.cloned() {
            let was_running = std::mem::take(&mut owner.running);
            if !predicates::has_quota_reservation(&wl) {
                return false;
            }
            if was_running && owner_key.starts_with("Pod/") {
                // The pod is deleted, and its Workload with it.
                self.delete(&owner_key);
                return true;
            }
            let group = owner_key.starts_with("PodGroup/");
            return self.write(key, |wl| {
                let again = cond.reason == c::evicted::PREEMPTED;
                let requeued = condition(wl, c::REQUEUED, again, &cond.reason, &cond.message, now);
                set_condition(&mut wl.status.conditions, requeued);
                if group {
                    let waiting = condition(
                        wl,
                        "WaitingForReplacementPods",
                        true,
                        &cond.reason,
                        &cond.message,
                        now,
                    );
                    set_condition(&mut wl.status.conditions, waiting);
                }
                let reason = c::quota_reserved::PENDING_EVALUATION;
                unreserve_quota(wl, reason, &cond.message, now, &gates);
            });
        }
        if !predicates::is_admitted(&wl) {
            return false;
        }
        owner.running = true;
        let admission = wl.status.admission.as_ref();
        owner.parallelism = admission.and_then(|a| a.pod_set_assignments.first()?.count);
        let reclaimable = owner.reclaimable(self.roles);
        let reclaimable = serde_json::from_value(reclaimable).unwrap();
        self.write(key, |wl| wl.status.reclaimable_pods = reclaimable)
    }

    /// Gives a Job another priority class.
    pub fn set_class(&mut self, owner: &str, class: &str) {
        let Some(wl) = self.workload(owner) else {
            return;
        };
        let (key, value) = (predicates::key(wl), self.classes[class] as i32);
        if wl.spec.priority_class_ref.is_none() && predicates::has_quota_reservation(wl) {
            // Too late to get a class.
            return;
        }
        self.write(&key, |wl| {
            wl.spec.priority = Some(value);
            wl.spec.priority_class_ref = Some(PriorityClassRef::workload(class));
            wl.metadata.generation = wl.metadata.generation.map(|g| g + 1);
        });
    }
}
