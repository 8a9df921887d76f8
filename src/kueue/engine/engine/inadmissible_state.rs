//! [`Engine::inadmissible_state`]: since when a workload is inadmissible, and the events that requeue it.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Engine, PendingState};
use crate::queue::RequeueRequest;
use crate::workload::{WorkloadKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{InadmissibleState, RequeueEvent, RequeueScope};

impl Engine {
    /// The state of an inadmissible workload of a ClusterQueue; none of other workloads.
    pub(super) fn inadmissible_state(
        &self,
        wl: &Workload,
        queue: &Arc<str>,
        now: Timestamp,
    ) -> Option<InadmissibleState> {
        let key = predicates::key(wl);
        // Workloads whose retries are skipped count as inadmissible without an event.
        let skips_retries = !self.quota_slots.is_empty();
        if skips_retries || self.pending_state(&key) != Some(PendingState::Inadmissible) {
            return None;
        }
        let node = self.cache.node_of(queue);
        let request = node.and_then(|node| RequeueRequest::of(queue, node, &self.cache.hierarchy));
        let requeued_by = self.requeue_events(wl, queue, request.as_ref(), now);
        let is_requeued = |event: &RequeueEvent| matches!(event, RequeueEvent::QueueChanged { .. });
        let requeued_at = request
            .filter(|_| requeued_by.iter().any(is_requeued))
            .and_then(|request| self.queues.requeue_due(&request));
        Some(InadmissibleState {
            since: self.inadmissible_since(wl, &key, queue),
            requeued_at,
            requeued_by,
        })
    }

    /// The last of its evaluation, that of an equivalent workload, and its eviction.
    fn inadmissible_since(
        &self,
        wl: &Workload,
        key: &WorkloadKey,
        queue: &str,
    ) -> Option<Timestamp> {
        let created = wl.metadata.creation_timestamp.as_ref().map(|at| at.0);
        let own = self.decisions.get(key).map(|decision| decision.at);
        let pending = self.queues.cluster_queue(queue);
        let of_class = pending.and_then(|pending| pending.no_fit_since(key));
        let changed = [c::EVICTED, c::REQUEUED].map(|type_| {
            let condition = wl.condition(type_)?;
            Some(condition.last_transition_time.0)
        });
        let latest = [own, of_class].into_iter().chain(changed).flatten().max()?;
        Some(created.map_or(latest, |created| latest.max(created)))
    }

    /// The events that requeue an inadmissible workload.
    fn requeue_events(
        &self,
        wl: &Workload,
        queue: &Arc<str>,
        request: Option<&RequeueRequest>,
        now: Timestamp,
    ) -> Vec<RequeueEvent> {
        let state = wl.status.requeue_state.as_ref();
        let requeue_at = state.and_then(|state| state.requeue_at.as_ref());
        if let Some(at) = requeue_at.map(|at| at.0).filter(|at| *at > now) {
            return vec![RequeueEvent::BackoffEnds { at }];
        }
        if predicates::false_condition(wl, c::REQUEUED).is_some() {
            return vec![RequeueEvent::WorkloadChanged];
        }
        let namespace = predicates::namespace(wl);
        let pending = self.queues.cluster_queue(queue);
        if pending.is_some_and(|pending| !pending.selects(&self.cluster_objects, namespace)) {
            let namespace = namespace.to_owned();
            return vec![
                RequeueEvent::NamespaceSelected { namespace },
                RequeueEvent::WorkloadChanged,
            ];
        }
        let scope = match request {
            Some(RequeueRequest::Cohort(root)) => RequeueScope::Cohort(root.to_string()),
            Some(RequeueRequest::ClusterQueue(name)) => {
                RequeueScope::ClusterQueue(name.to_string())
            }
            None => return vec![RequeueEvent::WorkloadChanged],
        };
        let mut events = vec![
            RequeueEvent::QuotaReleased {
                scope: scope.clone(),
            },
            RequeueEvent::QueueChanged { scope },
            RequeueEvent::FlavorChanged {
                cluster_queue: queue.to_string(),
            },
        ];
        let queue = self.cache.cluster_queue(queue);
        let groups = queue.into_iter().flat_map(|queue| queue.groups.iter());
        let mut flavors = groups.flat_map(|group| &group.flavors);
        let has_topology = flavors.any(|flavor| {
            let flavor = self.cache.flavor(flavor);
            flavor.is_some_and(|flavor| flavor.spec.topology_name.is_some())
        });
        if has_topology {
            events.push(RequeueEvent::NodesChanged);
        }
        events.push(RequeueEvent::WorkloadChanged);
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;
    use crate::engine::test_fixtures::{at, lab, workload};

    #[test]
    fn a_workload_that_would_fit_is_inadmissible_until_the_batch_of_requeues() {
        let mut engine = lab(EngineConfig::default());
        engine.upsert_workload(workload("running", "b", 30, true), at(0));
        engine.upsert_workload(workload("waiting", "a", 8, false), at(0));
        // A full queue whose other workloads are of no lower priority.
        let mut queue =
            kueue_lab_api::v1beta2::ClusterQueue::clone(engine.cluster_queue("a").unwrap());
        queue.spec.preemption = None;
        engine.upsert_cluster_queue(queue.into(), at(0));
        engine.advance(at(2));
        assert!(engine.cycle(at(2)).is_some());
        let key = WorkloadKey::new("ns", "waiting");
        let explained = engine.explain(&key, at(3)).unwrap();
        let state = explained.inadmissible.unwrap();
        assert_eq!(state.since, Some(at(2)));
        assert_eq!(
            state.events_text(),
            "a Workload of cohort all releases quota, a ClusterQueue or Cohort of cohort all changes, \
             a flavor or admission check of ClusterQueue a changes or the Workload changes"
        );
        // It fits from now on, and is requeued a second later.
        engine.delete_workload(&WorkloadKey::new("ns", "running"), at(4));
        let verdict = engine.explain(&key, at(4)).unwrap().verdict.unwrap();
        assert_eq!(
            verdict.to_string(),
            format!(
                "waits: it would fit now, but is inadmissible since {}, requeued at {}",
                at(2),
                at(5)
            )
        );
        engine.advance(at(5));
        let explained = engine.explain(&key, at(5)).unwrap();
        assert_eq!(explained.inadmissible, None);
        assert_eq!(
            explained.verdict.unwrap().to_string(),
            "waits: it fits, the next cycle evaluates it"
        );
    }
}
