//! Events of Workloads: create, update and delete.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Engine, order_context};
use crate::workload::predicates::{self, Status};
use crate::workload::{
    DraRequests, LocalQueueKey, WorkloadKey, adjust_resources, is_priority_changed, is_scaled_down,
};
use kueue_lab_api::v1beta2::Workload;

impl Engine {
    /// Adds or updates a Workload.
    pub(super) fn upsert_workload(&mut self, wl: Arc<Workload>, now: Timestamp) {
        let key = predicates::key(&wl);
        match self.store.insert_workload(&key, wl.clone()) {
            None => self.workload_created(&wl, now),
            Some(old) => self.workload_updated(&key, &old, &wl, now),
        }
    }

    /// The latest version of a Workload.
    pub fn workload(&self, key: &WorkloadKey) -> Option<&Arc<Workload>> {
        self.store.workload(key)
    }

    /// All Workloads, by name.
    pub fn workloads(&self) -> impl Iterator<Item = &Arc<Workload>> {
        self.store.workloads()
    }

    fn workload_created(&mut self, wl: &Arc<Workload>, now: Timestamp) {
        if predicates::is_finished(wl) {
            return;
        }
        let adjusted = adjust_resources(wl, &self.cluster_objects);
        if predicates::is_admissible(wl, &self.config.gates) {
            if !self.needs_dra_reconcile(wl) {
                self.queue_workload(&adjusted, None, now);
            }
            return;
        }
        // Upstream queues these when it adds the LocalQueue. Here LocalQueues may be added before
        // the Workloads, as after a restart.
        self.queues
            .assign_workload(&predicates::key(wl), predicates::local_queue_key(wl));
        self.cache_workload(&adjusted);
        self.queues.second_pass.queue_if_needed(&adjusted, 0, now);
    }

    /// Queues a Workload. Without its queue it is queued when the queue is added.
    fn queue_workload(&mut self, wl: &Arc<Workload>, dra: Option<&DraRequests>, now: Timestamp) {
        let ctx = order_context!(self);
        let queued = self.queues.add_or_update_workload(wl, dra, ctx, now);
        if queued.is_ok() {
            // A preemptor no longer waits for it.
            let key = predicates::key(wl);
            self.expectations.observed(&key, predicates::uid(wl));
        }
    }

    /// Adds a Workload that reserves quota to the cache. Without its ClusterQueue it is added when
    /// that is added.
    fn cache_workload(&mut self, wl: &Arc<Workload>) -> bool {
        let counted = self.cache.upsert_workload(wl, &self.config);
        counted.unwrap_or(false)
    }

    fn delete_cached_workload(&mut self, key: &WorkloadKey) {
        // It may not be in the cache.
        let _ = self.cache.delete_workload(key);
    }

    /// Requeues the inadmissible workloads of the cohort tree of a Workload's ClusterQueue.
    fn notify_retry_associated_inadmissible(&mut self, key: &WorkloadKey, now: Timestamp) {
        let queue = self.queues.associated_cluster_queue(key).cloned();
        self.notify_retry_inadmissible(queue, now);
    }

    fn workload_updated(
        &mut self,
        key: &WorkloadKey,
        old: &Arc<Workload>,
        wl: &Arc<Workload>,
        now: Timestamp,
    ) {
        let (before, after) = (predicates::status(old), predicates::status(wl));
        let active = wl.spec.is_active();
        let adjusted = adjust_resources(wl, &self.cluster_objects);
        let on_hold = predicates::is_on_hold(wl);
        if after == Status::Finished || !active {
            self.queues.delete_workload(key, order_context!(self));
            self.delete_cached_workload(key);
            self.notify_retry_associated_inadmissible(key, now);
        } else if before == Status::Pending && after == Status::Pending {
            if on_hold {
                self.queues.delete_workload(key, order_context!(self));
            } else if !self.needs_dra_reconcile(wl) {
                self.queue_workload(&adjusted, None, now);
            }
        } else if before == Status::Pending {
            self.queues.delete_workload(key, order_context!(self));
            self.cache_workload(&adjusted);
        } else if matches!(before, Status::QuotaReserved | Status::Admitted)
            && after == Status::Pending
        {
            self.delete_cached_workload(key);
            let requeue_at = wl
                .status
                .requeue_state
                .as_ref()
                .and_then(|s| s.requeue_at.as_ref());
            // With a backoff it is requeued when that expires.
            if requeue_at.is_none_or(|at| at.0 <= now) && !on_hold && !self.needs_dra_reconcile(wl)
            {
                self.queue_workload(&adjusted, None, now);
                self.queues.second_pass.delete(key);
            }
            if !predicates::needs_second_pass(wl) {
                self.queues.second_pass.delete(key);
            }
            self.notify_retry_associated_inadmissible(key, now);
        } else {
            self.cache_workload(&adjusted);
            if self.frees_quota(old, wl, before, after) {
                self.notify_retry_associated_inadmissible(key, now);
            }
        }
        self.update_entry_penalties(key, old, wl, now);
        self.queues.second_pass.queue_if_needed(&adjusted, 0, now);
    }

    /// Whether an update of a Workload that keeps its quota releases quota or pods.
    fn frees_quota(&self, old: &Workload, wl: &Workload, before: Status, after: Status) -> bool {
        let admitted = before == Status::Admitted && after == Status::Admitted;
        let gates = &self.config.gates;
        (admitted && old.status.reclaimable_pods != wl.status.reclaimable_pods)
            || (gates.elastic_jobs_via_workload_slices && is_scaled_down(old, wl))
            || is_priority_changed(old, wl, gates)
    }

    /// Deletes a Workload.
    pub(super) fn delete_workload(&mut self, key: &WorkloadKey, now: Timestamp) {
        let Some(last) = self.store.remove_workload(key) else {
            return;
        };
        self.expectations.observed(key, predicates::uid(&last));
        self.delete_cached_workload(key);
        self.notify_retry_associated_inadmissible(key, now);
        self.queues
            .delete_and_forget_workload(key, order_context!(self));
        self.decisions.remove(key);
        self.assumed.remove(key);
        if self.config.afs().is_some() {
            let queue = predicates::local_queue_key(&last);
            self.ledger.remove_penalty(&queue, key);
        }
    }

    /// Queues a Workload whose backoff expired. With device requests it is queued when those are
    /// resolved.
    pub fn requeue_workload(&mut self, key: &WorkloadKey, now: Timestamp) {
        let Some(wl) = self.store.workload(key) else {
            return;
        };
        if !self.needs_dra_reconcile(wl) {
            let adjusted = adjust_resources(wl, &self.cluster_objects);
            self.queue_workload(&adjusted, None, now);
        }
    }

    /// Updates the entry penalties of LocalQueues when Workloads are admitted, move or finish.
    fn update_entry_penalties(
        &mut self,
        key: &WorkloadKey,
        old: &Workload,
        wl: &Workload,
        now: Timestamp,
    ) {
        let Some(afs) = self.config.afs() else {
            return;
        };
        let (before, after) = (predicates::status(old), predicates::status(wl));
        let active = wl.spec.is_active();
        let queue: LocalQueueKey = predicates::local_queue_key(wl);
        let cluster_queue = wl
            .status
            .admission
            .as_ref()
            .map(|a| a.cluster_queue.as_str());
        if active
            && after == Status::Admitted
            && before != Status::Admitted
            && let Some(name) = cluster_queue
            && self
                .cache
                .cluster_queue(name)
                .is_some_and(|q| q.uses_admission_fair_sharing())
            && let Ok(usage) = self.cache.local_queue(name, &queue)
        {
            let used = usage.admitted_by_resource(&self.cache.hierarchy.frs);
            let used = crate::afs::exact_requests(&used);
            self.ledger
                .subtract_penalty_on_admission(&queue, key, &used, now, afs);
        }
        let was = predicates::local_queue_key(old);
        if was != queue {
            self.ledger.remove_penalty(&was, key);
        }
        let reserved = predicates::has_quota_reservation;
        let lost = !active && !reserved(wl) && (old.spec.is_active() || reserved(old));
        let finished = after == Status::Finished && before != Status::Finished;
        if lost || finished {
            self.ledger.remove_penalty(&queue, key);
        }
    }

    /// Recomputes the requests of pending Workloads after a change of what adjusts them, except
    /// Workloads whose device requests have to be resolved again.
    pub(super) fn requeue_pending(
        &mut self,
        is_affected: impl Fn(&Workload) -> bool,
        now: Timestamp,
    ) {
        let gates = &self.config.gates;
        let pending: Vec<Arc<Workload>> = self
            .store
            .workloads()
            .filter(|wl| predicates::is_admissible(wl, gates) && is_affected(wl))
            .filter(|wl| !self.needs_dra_reconcile(wl))
            .cloned()
            .collect();
        for wl in pending {
            let adjusted = adjust_resources(&wl, &self.cluster_objects);
            self.queue_workload(&adjusted, None, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::EngineConfig;
    use crate::cycle::ActionKind;
    use crate::engine::test_fixtures::{at, from_json};
    use crate::engine::{DeletedObject, EngineObject, ObjectChange};

    /// A ClusterQueue that fits one workload at a time, with preemption by priority.
    fn engine() -> Engine {
        let mut engine = Engine::new(EngineConfig::default());
        engine.apply(
            ObjectChange::Upsert(EngineObject::Namespace(from_json(
                json!({"metadata": {"name": "ns"}}),
            ))),
            at(0),
        );
        engine.apply(
            ObjectChange::Upsert(EngineObject::ResourceFlavor(from_json(
                json!({"metadata": {"name": "f"}, "spec": {}}),
            ))),
            at(0),
        );
        let flavor = json!({"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]});
        let spec = json!({
            "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
            "preemption": {"withinClusterQueue": "LowerPriority"},
        });
        engine.apply(
            ObjectChange::Upsert(EngineObject::ClusterQueue(from_json(
                json!({"metadata": {"name": "q"}, "spec": spec}),
            ))),
            at(0),
        );
        let lq =
            json!({"metadata": {"name": "q", "namespace": "ns"}, "spec": {"clusterQueue": "q"}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::LocalQueue(from_json(lq))),
            at(0),
        );
        engine
    }

    fn workload(name: &str, priority: i32, status: Value) -> Arc<Workload> {
        let created = at(-1_000).to_string();
        from_json(json!({
            "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": created},
            "spec": {"queueName": "q", "active": true, "priority": priority,
                "podSets": [{"name": "main", "count": 1, "template": {"spec": {
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}}]},
            "status": status,
        }))
    }

    fn conditions(list: &[(&str, &str)]) -> Value {
        let list = list.iter().map(|(type_, status)| {
            json!({"type": type_, "status": status, "reason": "R", "message": "",
                "lastTransitionTime": at(-500).to_string()})
        });
        list.collect()
    }

    /// The kinds of the next cycle's actions, by workload; admissions are not written yet.
    fn cycle(engine: &mut Engine, second: i64) -> Vec<(ActionKind, String)> {
        let decided = engine.begin_cycle(at(second)).unwrap();
        let done = decided
            .actions
            .iter()
            .map(|a| (a.kind, a.workload.name().to_owned()));
        let done = done.collect();
        engine.finish_cycle(decided, &Default::default(), at(second));
        done
    }

    #[test]
    fn a_workload_that_waits_for_replacement_pods_during_its_cycle_is_queued_afterwards() {
        let mut engine = engine();
        let wide = |name: &str, status: Value| {
            let mut wl = Workload::clone(&workload(name, 1, status));
            wl.spec.pod_sets[0].count = 2;
            Arc::new(wl)
        };
        engine.apply(ObjectChange::upsert(wide("group", json!({}))), at(0));
        // It does not fit, and during the cycle its pods have to be replaced.
        let decided = engine.begin_cycle(at(1)).unwrap();
        let status = |waits: &str| json!({"conditions": conditions(&[("WaitingForReplacementPods", waits)])});
        engine.apply(ObjectChange::upsert(wide("group", status("True"))), at(1));
        engine.finish_cycle(decided, &Default::default(), at(1));
        assert!(!engine.has_heads());
        engine.apply(ObjectChange::upsert(wide("group", status("False"))), at(2));
        assert!(engine.has_heads());
    }

    #[test]
    fn a_requeued_preemption_target_can_be_preempted_again() {
        let mut engine = engine();
        let admission = json!({"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 1,
            "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}}]});
        let admitted = conditions(&[("QuotaReserved", "True"), ("Admitted", "True")]);
        let running = json!({"conditions": admitted, "admission": admission});
        engine.apply(ObjectChange::upsert(workload("low", 1, running)), at(0));
        engine.apply(ObjectChange::upsert(workload("first", 2, json!({}))), at(0));
        let preempts = (ActionKind::Preempt, "low".to_owned());
        assert!(cycle(&mut engine, 1).contains(&preempts));
        let lost = conditions(&[("QuotaReserved", "False"), ("Evicted", "True")]);
        engine.apply(
            ObjectChange::upsert(workload("low", 1, json!({"conditions": lost}))),
            at(2),
        );
        engine.apply(
            ObjectChange::Delete(DeletedObject::Workload(WorkloadKey::new("ns", "first"))),
            at(2),
        );
        assert_eq!(
            cycle(&mut engine, 3),
            [(ActionKind::Admit, "low".to_owned())]
        );
        engine.apply(
            ObjectChange::upsert(workload("second", 3, json!({}))),
            at(4),
        );
        assert!(cycle(&mut engine, 5).contains(&preempts));
    }
}
