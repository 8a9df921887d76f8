//! [`Explanation`]: the reasons that a workload is pending, admitted or preempted.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Engine;
use super::pending_workloads::PendingState;
use super::quota_reserved_condition::QueueInadmissibleReason;
use crate::cycle::{CycleProgress, Decision};
use crate::flavor_assigner::FlavorAssignmentMode;
use crate::hash_map::FastHashMap;
use crate::queue::Head;
use crate::workload::{
    AssignmentClusterQueueState, Info, WorkloadKey, adjust_resources, predicates,
};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{
    InadmissibleCause, InadmissibleState, PendingReason, PendingVerdict, QuotaShortfall,
};

/// The most cycles in which flavors are tried.
const MAX_CYCLES: usize = 64;

/// The state of a workload and the decisions on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The workload.
    pub workload: WorkloadKey,
    /// Its ClusterQueue, from its admission or its LocalQueue.
    pub cluster_queue: Option<Arc<str>>,
    /// Its effective priority.
    pub priority: i64,
    /// The reason that it is pending; none when it reserves quota or is finished.
    pub verdict: Option<PendingVerdict>,
    /// Its state in the queues.
    pub pending_state: Option<PendingState>,
    /// Since when it is inadmissible, and the events that requeue it; none of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inadmissible: Option<InadmissibleState>,
    /// Its position among the pending workloads of its ClusterQueue, from 0.
    pub position: Option<usize>,
    /// The reason that its queue makes it inadmissible.
    pub blocker: Option<QueueInadmissibleReason>,
    /// The last decision on it.
    pub last: Option<Arc<Decision>>,
    /// The decision of a cycle with it as the only head; none when it reserves quota.
    pub now: Option<Decision>,
    /// The quota that it lacks in each flavor, with the quotas and limits that cause it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<QuotaShortfall>,
}

/// The order of the pending workloads of ClusterQueues, computed once for each. It is valid until a
/// workload or a queue changes.
#[derive(Debug, Default)]
pub struct PendingOrder {
    queues: BTreeMap<Arc<str>, QueueOrder>,
    /// The engine without the usage of any workload.
    without_usage: Option<Box<Engine>>,
}

/// The order of the pending workloads of a ClusterQueue.
#[derive(Debug, Default)]
struct QueueOrder {
    first: Option<WorkloadKey>,
    positions: FastHashMap<WorkloadKey, usize>,
}

impl PendingOrder {
    fn of(&mut self, engine: &Engine, queue: &Arc<str>) -> &QueueOrder {
        self.queues.entry(queue.clone()).or_insert_with(|| {
            let pending = engine.queues.cluster_queue(queue);
            let all = pending.map_or_else(Vec::new, |p| p.in_order(engine.order_context()));
            let positions = all.iter().enumerate();
            QueueOrder {
                first: all.first().map(|info| info.key.clone()),
                positions: positions.map(|(at, info)| (info.key.clone(), at)).collect(),
            }
        })
    }
}

impl Engine {
    /// Explains a workload, without side effects. `now` is decided as if it were the only head of a
    /// cycle.
    pub fn explain(&mut self, key: &WorkloadKey, now: Timestamp) -> Option<Explanation> {
        self.explain_in_order(key, &mut PendingOrder::default(), now)
    }

    /// Explains one of several workloads of the same state.
    pub fn explain_in_order(
        &mut self,
        key: &WorkloadKey,
        order: &mut PendingOrder,
        now: Timestamp,
    ) -> Option<Explanation> {
        let wl = self.store.workload(key)?.clone();
        let admission = wl.status.admission.as_ref();
        let queue: Option<Arc<str>> = match admission {
            Some(admission) => Some(admission.cluster_queue.as_str().into()),
            None => self.cluster_queue_of(&wl).map(|(name, _)| name.clone()),
        };
        let waits = !predicates::has_quota_reservation(&wl) && !predicates::is_finished(&wl);
        let pending = queue.as_ref().and_then(|q| self.queues.cluster_queue(q));
        let info = match pending.and_then(|p| p.get(key)) {
            Some(info) => Info::clone(info),
            None => {
                let adjusted = adjust_resources(&wl, &self.cluster_objects);
                // The verdict has the reason why devices cannot be counted.
                let devices = self.dra_requests(&wl).unwrap_or_default();
                Info::with_dra(adjusted, &self.config, devices.as_ref())
            }
        };
        let in_queue = queue.as_ref().filter(|_| waits);
        let in_queue = in_queue.map(|queue| order.of(self, queue));
        let position = in_queue.and_then(|order| order.positions.get(key).copied());
        let first = in_queue.and_then(|order| order.first.clone());
        let priority = info.priority;
        // A workload whose devices cannot be counted is not nominated.
        let dra_inadmissible_message = self.dra_inadmissible_message(&wl).filter(|_| waits);
        let nominated = queue
            .clone()
            .filter(|_| waits && dra_inadmissible_message.is_none());
        let nominated = nominated.map(|queue| {
            let mut info = info;
            info.cluster_queue = queue;
            info
        });
        let decision_as_head = nominated
            .as_ref()
            .and_then(|info| Some(self.dry_run(info.clone(), now)?.0));
        let does_not_fit = decision_as_head.as_ref().is_some_and(does_not_fit);
        let of_least = nominated
            .as_ref()
            .filter(|_| does_not_fit && self.config.gates.partial_admission)
            .and_then(with_least_counts)
            .and_then(|info| Some(self.dry_run(info, now)?.0));
        let without_usage = nominated.filter(|_| does_not_fit).and_then(|info| {
            let engine = order.without_usage.get_or_insert_with(|| {
                let mut engine = Box::new(self.clone());
                engine.delete_reserving_workloads(now);
                engine
            });
            let info = Info {
                // The flavors that were tried last are tried again.
                last_assignment: None,
                ..info
            };
            engine.dry_run_until_fit(info, now)
        });
        let inadmissible = queue
            .as_ref()
            .and_then(|queue| self.inadmissible_state(&wl, queue, now));
        let shortfalls = decision_as_head
            .as_ref()
            .map_or_else(Vec::new, |decision| self.quota_shortfalls(decision));
        let mut explanation = Explanation {
            workload: key.clone(),
            cluster_queue: queue,
            priority,
            verdict: None,
            pending_state: self.pending_state(key),
            inadmissible,
            position,
            blocker: self.queue_inadmissible_reason(&wl).filter(|_| waits),
            last: self.decisions.get(key).cloned(),
            now: decision_as_head,
            shortfalls,
        };
        explanation.verdict = match dra_inadmissible_message {
            Some(message) if wl.spec.is_active() => {
                let cause = InadmissibleCause::Other { message };
                Some(PendingReason::Inadmissible { cause }.into())
            }
            _ => self.pending_verdict(
                &wl,
                &explanation,
                of_least.as_ref(),
                without_usage.as_ref(),
                first.as_ref(),
                now,
            ),
        };
        Some(explanation)
    }

    /// Deletes the workloads that reserve quota.
    fn delete_reserving_workloads(&mut self, now: Timestamp) {
        let all = self.store.workloads();
        let reserving = all.filter(|wl| {
            predicates::has_quota_reservation(wl) || self.assumed.contains_key(&predicates::key(wl))
        });
        let reserving: Vec<WorkloadKey> = reserving.map(|wl| predicates::key(wl)).collect();
        for key in reserving {
            self.delete_workload(&key, now);
        }
    }

    /// The first decision of successive cycles with the workload as the only head, which try one flavor after the
    /// other, or that with which it fits.
    fn dry_run_until_fit(&mut self, mut info: Info, now: Timestamp) -> Option<Decision> {
        let mut first = None;
        for _ in 0..MAX_CYCLES {
            let (decision, last) = self.dry_run(info.clone(), now)?;
            if decision.mode == Some(FlavorAssignmentMode::Fit) {
                return Some(decision);
            }
            first.get_or_insert(decision);
            if !last.as_ref().is_some_and(|last| last.pending_flavors()) {
                break;
            }
            info.last_assignment = last;
        }
        first
    }

    /// The decision of a cycle with the workload as the only head, and the flavors that it tried.
    fn dry_run(
        &mut self,
        info: Info,
        now: Timestamp,
    ) -> Option<(Decision, Option<Arc<AssignmentClusterQueueState>>)> {
        let expectations = self.expectations.clone();
        let head = Head {
            info,
            is_preemptor: false,
        };
        let mut decided = self.run_cycle(now, |run| {
            run.records_all_candidates = true;
            run.nominate(vec![head]);
            run.process_entries();
            CycleProgress::Done
        });
        self.expectations = expectations;
        decided.record_outcomes(&Default::default());
        let mut entry = decided.entries.pop().or_else(|| decided.rejected.pop())?;
        let mut decision = entry.decision.take()?;
        decision.inadmissible = entry.inadmissible;
        decision.requeue_reason = entry.requeue_reason;
        Some((decision, entry.info.last_assignment))
    }
}

/// The workload with the least number of pods of each pod set; none without partial admission.
fn with_least_counts(info: &Info) -> Option<Info> {
    if !predicates::can_be_partially_admitted(&info.obj) {
        return None;
    }
    let mut wl = Workload::clone(&info.obj);
    let mut total_requests = info.total_requests.to_vec();
    for pod_set in &mut wl.spec.pod_sets {
        let total = total_requests.iter_mut().find(|t| t.name == pod_set.name)?;
        let least = pod_set.min_count.take().unwrap_or(total.count);
        *total = total.scaled_to(least.min(total.count));
        pod_set.count = total.count;
    }
    Some(Info {
        obj: Arc::new(wl),
        total_requests: total_requests.into(),
        last_assignment: None,
        ..info.clone()
    })
}

/// Whether a workload does not fit now, and preemption does not help.
fn does_not_fit(decision: &Decision) -> bool {
    match decision.mode {
        Some(FlavorAssignmentMode::Fit | FlavorAssignmentMode::DeferredFit) => false,
        Some(FlavorAssignmentMode::Preempt) => decision.victims.is_empty(),
        Some(FlavorAssignmentMode::NoFit) | None => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
    use kueue_lab_api::constants as c;
    use serde_json::json;

    use crate::config::{EngineConfig, FairSharing};
    use crate::engine::test_fixtures::{at, from_json, lab, workload};
    use crate::engine::{Engine, Explanation};
    use crate::engine::{EngineObject, ObjectChange};
    use crate::flavor_assigner::{FlavorAssignmentMode, FlavorMismatch};
    use crate::preemption::{CandidateOutcome, PreemptionVariant};
    use crate::workload::WorkloadKey;
    use kueue_lab_api::v1beta2::Workload;

    fn explained(engine: &mut Engine, name: &str) -> Explanation {
        let key = WorkloadKey::new("ns", name);
        engine.explain(&key, at(1)).unwrap()
    }

    #[test]
    fn attempts_have_available_and_missing_quota() {
        let mut engine = lab(EngineConfig::default());
        engine.apply(
            ObjectChange::upsert(workload("running", "a", 25, true)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("waiting", "a", 8, false)),
            at(0),
        );
        let decision = explained(&mut engine, "waiting").now.unwrap();
        let attempts = &decision.pod_sets[0].attempts;
        assert_eq!(attempts.len(), 2);
        let (here, spot) = (&attempts[0], &attempts[1]);
        assert_eq!(
            (&*here.flavor, here.mode),
            ("on-demand", FlavorAssignmentMode::Preempt)
        );
        let cpu = &here.resources[0];
        assert_eq!(cpu.requested, 8_000.into());
        assert_eq!(cpu.available, 5_000.into());
        assert_eq!(cpu.capacity, 30_000.into());
        assert_eq!(cpu.nominal, 10_000.into());
        assert_eq!(cpu.missing, 3_000.into());
        assert_eq!((cpu.mode, here.mismatch.as_ref()), (here.mode, None));
        let taint = FlavorMismatch::UntoleratedTaint {
            pod_set: "main".into(),
            key: "spot".into(),
            value: "yes".into(),
            effect: "NoSchedule".into(),
        };
        assert_eq!((&*spot.flavor, &spot.mismatch), ("spot", &Some(taint)));
        assert!(spot.resources.is_empty());
    }

    /// The verdict on a workload that is pending beside a running one of 25 CPUs.
    fn verdict(wl: Arc<Workload>) -> String {
        let mut engine = lab(EngineConfig::default());
        engine.apply(
            ObjectChange::upsert(workload("running", "a", 25, true)),
            at(0),
        );
        let name = wl.metadata.name.clone().unwrap();
        engine.apply(ObjectChange::upsert(wl), at(0));
        explained(&mut engine, &name).verdict.unwrap().to_string()
    }

    #[test]
    fn the_verdict_names_the_missing_quota() {
        let waits = verdict(workload("waiting", "b", 8, false));
        assert_eq!(waits, "waits: it needs the quota of ns/running");
        let mut engine = lab(EngineConfig::default());
        engine.apply(
            ObjectChange::upsert(workload("running", "a", 8, true)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("other", "b", 10, true)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("third", "c", 10, true)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("waiting", "a", 8, false)),
            at(0),
        );
        let verdict = explained(&mut engine, "waiting").verdict.unwrap();
        assert_eq!(verdict.to_string(), "waits: 6 more cpu in on-demand");
    }

    #[test]
    fn the_verdict_names_what_the_preemption_of_all_candidates_frees() {
        let mut engine = lab(EngineConfig::default());
        engine.apply(
            ObjectChange::upsert(workload("other", "b", 10, true)),
            at(0),
        );
        engine.apply(
            ObjectChange::upsert(workload("third", "c", 10, true)),
            at(0),
        );
        let with_priority = |mut wl: Arc<Workload>, priority| {
            Arc::make_mut(&mut wl).spec.priority = Some(priority);
            wl
        };
        for (name, cpu, priority) in [("low-1", 1, 0), ("low-2", 1, 0), ("high", 6, 10)] {
            let running = with_priority(workload(name, "a", cpu, true), priority);
            engine.apply(ObjectChange::upsert(running), at(0));
        }
        let waiting = with_priority(workload("waiting", "a", 6, false), 10);
        engine.apply(ObjectChange::upsert(waiting), at(0));
        let explanation = explained(&mut engine, "waiting");
        let decision = explanation.now.unwrap();
        let outcomes: Vec<_> = decision.candidates.iter().map(|c| c.outcome).collect();
        assert_eq!(outcomes, [CandidateOutcome::Insufficient; 2]);
        let shortage = decision.shortage.unwrap();
        assert_eq!((shortage.targets, shortage.borrowing), (2, true));
        let cpu = &shortage.resources[0];
        assert_eq!((cpu.freed, cpu.missing), (2_000.into(), 2_000.into()));
        assert_eq!(
            explanation.verdict.unwrap().to_string(),
            "waits: 4 more cpu in on-demand; the preemption of both candidates that are allowed \
             frees 2 cpu in on-demand, 2 more are missing"
        );
    }

    #[test]
    fn the_verdict_names_the_flavor_that_has_quota_and_no_topology_domain() {
        let mut engine = lab(EngineConfig::default());
        let levels = json!([{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]);
        let topology = json!({"metadata": {"name": "racks"}, "spec": {"levels": levels}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::Topology(from_json(topology))),
            at(0),
        );
        for name in ["with-nodes", "without-nodes"] {
            let spec = json!({"nodeLabels": {"of": name}, "topologyName": "racks"});
            let flavor = json!({"metadata": {"name": name}, "spec": spec});
            engine.apply(
                ObjectChange::Upsert(EngineObject::ResourceFlavor(from_json(flavor))),
                at(0),
            );
        }
        let labels = json!({"of": "with-nodes", "rack": "r1", "kubernetes.io/hostname": "n1"});
        let node = json!({
            "metadata": {"name": "n1", "labels": labels},
            "status": {"allocatable": {"cpu": "1", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}]},
        });
        engine.apply(
            ObjectChange::Upsert(EngineObject::Node(from_json(node))),
            at(0),
        );
        let flavors = ["with-nodes", "without-nodes"];
        let flavors = flavors
            .map(|name| json!({"name": name, "resources": [{"name": "cpu", "nominalQuota": "1"}]}));
        let spec = json!({
            "namespaceSelector": {},
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        });
        let queue = json!({"metadata": {"name": "tas"}, "spec": spec});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ClusterQueue(from_json(queue))),
            at(0),
        );
        let local = json!({"metadata": {"name": "tas", "namespace": "ns"}, "spec": {"clusterQueue": "tas"}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::LocalQueue(from_json(local))),
            at(0),
        );

        let with_request = |mut wl: Arc<Workload>, priority| {
            let edited = Arc::make_mut(&mut wl);
            edited.spec.priority = Some(priority);
            edited.spec.pod_sets[0].topology_request = from_json(json!({"required": "rack"}));
            wl
        };
        let mut low = with_request(workload("low", "tas", 1, true), 0);
        let admission = Arc::make_mut(&mut low).status.admission.as_mut().unwrap();
        admission.pod_set_assignments = from_json(json!([{
            "name": "main", "count": 1, "flavors": {"cpu": "with-nodes"}, "resourceUsage": {"cpu": "1"},
            "topologyAssignment": {"levels": ["kubernetes.io/hostname"], "slices": [
                {"domainCount": 1, "valuesPerLevel": [{"universal": "n1"}], "podCounts": {"universal": 1}}]},
        }]));
        engine.apply(ObjectChange::upsert(low), at(0));
        engine.apply(
            ObjectChange::upsert(with_request(workload("high", "tas", 1, false), 10)),
            at(0),
        );
        let verdict = explained(&mut engine, "high").verdict.unwrap().to_string();
        assert_eq!(
            verdict,
            "waits: no topology domains at level: rack with all nodes free; without-nodes has unused quota, \
             so nothing is preempted in with-nodes (flavorFungibility.whenCanPreempt is TryNextFlavor)"
        );
    }

    #[test]
    fn a_workload_that_waits_for_replacement_pods_is_held() {
        let mut wl = Workload::clone(&workload("waiting", "b", 1, false));
        wl.status.conditions = vec![Condition {
            type_: c::WAITING_FOR_REPLACEMENT_PODS.into(),
            status: "True".into(),
            reason: c::evicted::PODS_READY_TIMEOUT.into(),
            message: String::new(),
            last_transition_time: Time(at(0)),
            observed_generation: None,
        }];
        assert_eq!(
            verdict(Arc::new(wl)),
            "held: it waits for replacement pods: WaitingForReplacementPods is True"
        );
    }

    #[test]
    fn the_verdict_is_never_when_an_empty_cluster_does_not_suffice() {
        let never = verdict(workload("waiting", "a", 31, false));
        assert_eq!(
            never,
            "never: does not tolerate the taint spot=yes:NoSchedule of spot; 31 cpu > maximum 30 in on-demand"
        );
        // With fewer pods it may fit.
        let mut partial = Workload::clone(&workload("waiting", "a", 16, false));
        partial.spec.pod_sets[0].count = 2;
        let both = verdict(Arc::new(partial.clone()));
        assert!(both.starts_with("never: "), "{both}");
        partial.spec.pod_sets[0].min_count = Some(1);
        let one = verdict(Arc::new(partial));
        assert!(one.starts_with("waits: "), "{one}");
        let absent = verdict(workload("waiting", "d", 1, false));
        assert_eq!(absent, "never: LocalQueue d doesn't exist");
    }

    #[test]
    fn a_workload_that_is_not_requeued_is_held() {
        let with_reason = |reason: &str| {
            let mut wl = Workload::clone(&workload("waiting", "b", 1, false));
            let condition = Condition {
                type_: c::REQUEUED.into(),
                status: "False".into(),
                reason: reason.into(),
                message: String::new(),
                last_transition_time: Time(at(0)),
                observed_generation: None,
            };
            wl.status.conditions = vec![condition];
            verdict(Arc::new(wl))
        };
        let held = "held: its condition Requeued is False with the reason \
                    DeactivatedDueToAdmissionCheck, which Kueue does not change";
        assert_eq!(with_reason("DeactivatedDueToAdmissionCheck"), held);
        assert!(!with_reason(c::evicted::ADMISSION_CHECK).starts_with("held"));
    }

    #[test]
    fn an_admitted_workload_has_no_verdict() {
        let mut engine = lab(EngineConfig::default());
        engine.apply(
            ObjectChange::upsert(workload("running", "a", 25, true)),
            at(0),
        );
        assert_eq!(explained(&mut engine, "running").verdict, None);
    }

    #[test]
    fn candidates_are_reported_with_the_reason_of_each_target() {
        let config = EngineConfig {
            fair_sharing: Some(FairSharing::default()),
            ..Default::default()
        };
        for fair in [false, true] {
            let config = if fair {
                config.clone()
            } else {
                EngineConfig::default()
            };
            let mut engine = lab(config);
            for i in 0..300 {
                let mut wl = Workload::clone(&workload(&format!("running-{i:03}"), "b", 1, true));
                let admission = wl.status.admission.as_mut().unwrap();
                let usage = &mut admission.pod_set_assignments[0].resource_usage;
                *usage.get_mut("cpu").unwrap() = from_json(json!("100m"));
                engine.apply(ObjectChange::upsert(wl), at(0));
            }
            // Shares are compared only when the workload borrows.
            let wanted = if fair { 12 } else { 10 };
            engine.apply(
                ObjectChange::upsert(workload("waiting", "a", wanted, false)),
                at(0),
            );
            let decision = explained(&mut engine, "waiting").now.unwrap();
            assert_eq!(
                (decision.candidate_count, decision.candidates.len()),
                (300, 300)
            );
            assert_eq!(decision.victims.len() as i64, wanted * 10);
            for victim in &decision.victims {
                let candidate = &decision.candidates[victim.candidate_index.unwrap()];
                assert_eq!(
                    (&candidate.workload, candidate.outcome),
                    (&victim.workload, CandidateOutcome::Victim)
                );
                assert_eq!(Some(candidate.variant), victim.variant);
                assert_eq!(candidate.variant == PreemptionVariant::FairSharing, fair);
                assert_eq!(victim.shares.is_some(), fair);
            }
        }
    }
}
