//! Compares the answers about pending workloads with what then happens.

use std::collections::BTreeSet;

use kueue_lab_api::v1beta2::{ClusterQueue, FairSharing};
use kueue_lab_engine::cycle::Decision;
use kueue_lab_engine::engine::{DeletedObject, Explanation, ObjectChange, PendingVerdictKind};
use kueue_lab_engine::flavor_assigner::FlavorAssignmentMode;
use kueue_lab_engine::preemption::CandidateOutcome;
use kueue_lab_engine::resources::ResourceName;
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_reason::PendingReason;
use kueue_lab_simulation::DriverEvent;
use kueue_lab_simulation::simulate::{PriorityClass, VerifiedChange, explain_workload};

use crate::engine_state::EngineState;

/// The most pending workloads of a state for which changes are searched.
const MAX_SEARCHES: usize = 2;

/// An answer that does not come true.
#[derive(Clone, Debug)]
pub(crate) struct WrongAnswer {
    /// The kind of answer, such as `never`.
    pub kind: &'static str,
    pub text: String,
}

/// Checks all answers about the pending workloads of a state.
///
/// # Errors
/// The first answer that is wrong.
pub(crate) fn check_answers(state: &EngineState) -> Result<(), WrongAnswer> {
    let mut searches = 0;
    for key in state.pending() {
        let explained = state.clone().explain(&key);
        let verdict = explained.verdict.clone().unwrap();
        let wrong = |kind: &'static str, what: &str| WrongAnswer {
            kind,
            text: format!("{key}: {verdict}\n  {what}"),
        };
        check_verdict(state, &key, &explained).map_err(|what| wrong("verdict", &what))?;
        if verdict.text().starts_with("it fits") {
            check_fit(state, &key, &explained).map_err(|what| wrong("fits", &what))?;
        }
        if let Some(decision) = &explained.now {
            check_shortage(state, &key, decision, &verdict.text())
                .map_err(|what| wrong("shortage", &what))?;
            check_victims(state, &key, decision).map_err(|what| wrong("victims", &what))?;
            check_candidates(state, &key, decision).map_err(|what| wrong("candidates", &what))?;
        }
        if let PendingReason::AwaitsRequeue { .. } = &verdict.reason {
            check_requeue(state, &key).map_err(|what| wrong("requeue", &what))?;
        }
        if searches < MAX_SEARCHES {
            searches += 1;
            check_changes(state, &key).map_err(|what| wrong("change", &what))?;
        }
    }
    Ok(())
}

impl EngineState {
    fn explain(&mut self, key: &WorkloadKey) -> Explanation {
        self.driver.engine_mut().explain(key, self.now).unwrap()
    }

    fn mode(&mut self, key: &WorkloadKey) -> Option<FlavorAssignmentMode> {
        self.explain(key).now.and_then(|decision| decision.mode)
    }
}

/// *never*: not admitted without any other workload. *held*: neither, until it is released. *waits*: admitted then.
fn check_verdict(
    state: &EngineState,
    key: &WorkloadKey,
    explained: &Explanation,
) -> Result<(), String> {
    let verdict = explained.verdict.as_ref().unwrap();
    let mut alone = state.clone();
    let wl = state.driver.engine().workload(key).unwrap();
    let requeue_at = wl.status.requeue_state.as_ref();
    let requeue_at = requeue_at.and_then(|state| state.requeue_at.as_ref());
    alone.delete_others(key);
    if requeue_at.is_some_and(|at| at.0 > alone.now) {
        alone.driver.schedule(alone.now);
        if alone.reserves(key) {
            return Err("it reserves quota before the end of its backoff".to_owned());
        }
    }
    if alone.settle_for_long().is_none() {
        return Err("it does not settle alone".to_owned());
    }
    let reserves = alone.reserves(key);
    match verdict.kind {
        PendingVerdictKind::Never if reserves => {
            Err("it reserves quota without other workloads".to_owned())
        }
        PendingVerdictKind::Held if reserves => {
            Err("it reserves quota although nothing releases it".to_owned())
        }
        PendingVerdictKind::Held => {
            release(&mut alone, key);
            let then = alone.explain(key).verdict;
            match then.is_some_and(|then| then.kind == PendingVerdictKind::Held) {
                true => Err("it is held although everything is released".to_owned()),
                false => Ok(()),
            }
        }
        PendingVerdictKind::Waits if !reserves => {
            let then = alone.explain(key).verdict.unwrap();
            // These say what happens in the state as it is, and are checked there. With fewer workloads flavors with
            // more quota and without a topology domain can be assigned.
            let is_about_now = matches!(
                verdict.reason,
                PendingReason::AwaitsRequeue { .. }
                    | PendingReason::Fits { .. }
                    | PendingReason::NeedsPreemption { .. }
            );
            match then.reason {
                _ if is_about_now => Ok(()),
                // Workloads of other cohorts used its nodes; their deletion is no event that requeues it.
                PendingReason::AwaitsRequeue { .. } => check_requeue(&alone, key),
                _ => Err(format!(
                    "it is not admitted without other workloads: {then}"
                )),
            }
        }
        _ => Ok(()),
    }
}

/// *it fits, behind others*: it is admitted without those before it.
fn check_fit(
    state: &EngineState,
    key: &WorkloadKey,
    explained: &Explanation,
) -> Result<(), String> {
    let (queue, position) = (explained.cluster_queue.as_ref(), explained.position);
    let ahead = queue
        .zip(position)
        .and_then(|(queue, position)| state.driver.engine().pending_positions(queue, 0, position));
    let ahead = ahead.unwrap_or_default();
    if ahead.is_empty() {
        return Err("the state is settled, and it does not wait for others".to_owned());
    }
    let mut without = state.clone();
    for other in ahead {
        let other = predicates::key(&other.workload);
        without.driver.engine_mut().apply(
            ObjectChange::Delete(DeletedObject::Workload(other.clone())),
            state.now,
        );
    }
    without.settle();
    match without.reserves(key) {
        true => Ok(()),
        false => Err("it is not admitted without those before it".to_owned()),
    }
}

/// *it would fit now, but is inadmissible*: no cycle admits it, and one does after an event that requeues it.
fn check_requeue(state: &EngineState, key: &WorkloadKey) -> Result<(), String> {
    let mut requeued = state.clone();
    requeued.settle();
    if requeued.reserves(key) {
        return Err("it is admitted without an event".to_owned());
    }
    let now = requeued.now;
    let queue = requeued.explain(key).cluster_queue.unwrap();
    let engine = requeued.driver.engine_mut();
    let mut queue = ClusterQueue::clone(engine.cluster_queue(&queue).unwrap());
    // A change of the spec without an effect on quota.
    queue.spec.fair_sharing = Some(FairSharing::default());
    engine.apply(ObjectChange::upsert(queue), now);
    requeued.settle();
    match requeued.reserves(key) {
        true => Ok(()),
        false => Err("it is not admitted after its queue changed".to_owned()),
    }
}

/// Releases everything that can hold a workload.
fn release(state: &mut EngineState, key: &WorkloadKey) {
    use kueue_lab_api::v1beta2::{LocalQueue, StopPolicy};
    let now = state.now;
    let engine = state.driver.engine_mut();
    let wl = engine.workload(key).unwrap().clone();
    let local = engine
        .local_queue(&predicates::local_queue_key(&wl))
        .unwrap();
    let mut local = LocalQueue::clone(local);
    local.spec.stop_policy = Some(StopPolicy::None);
    let mut queue = ClusterQueue::clone(engine.cluster_queue(&local.spec.cluster_queue).unwrap());
    queue.spec.stop_policy = Some(StopPolicy::None);
    queue.spec.admission_checks_strategy = None;
    engine.apply(ObjectChange::upsert(local), state.now);
    engine.apply(ObjectChange::upsert(queue), now);
    state.update(key, |wl| {
        wl.spec.active = Some(true);
        wl.metadata.annotations = None;
    });
}

/// `N more cpu in F`: with N more the flavor fits, and with less it does not. With partial admission the decision is on all
/// pods, and the verdict on the least number of them.
fn check_shortage(
    state: &EngineState,
    key: &WorkloadKey,
    decision: &Decision,
    text: &str,
) -> Result<(), String> {
    let mut words = text.split([' ', ',', ';']);
    let (Some(amount), Some("more"), Some("cpu"), Some("in"), Some(flavor)) = (
        words.next().and_then(|word| word.parse::<i64>().ok()),
        words.next(),
        words.next(),
        words.next(),
        words.next(),
    ) else {
        return Ok(());
    };
    let wl = state.driver.engine().workload(key).unwrap();
    if wl.spec.pod_sets.len() > 1 {
        return Ok(());
    }
    let is_partial = wl.spec.pod_sets[0].min_count.is_some();
    let fits_with = |more: i64| {
        let mut with = state.clone();
        with.add_nominal(&decision.cluster_queue, flavor, more);
        let explained = with.explain(key);
        if is_partial {
            let verdict = explained.verdict.as_ref().unwrap();
            let preempts = matches!(verdict.reason, PendingReason::NeedsPreemption { .. });
            let lacks_quota = format!(" more cpu in {flavor}");
            // All pods by preemption come before fewer without.
            let fits = more == amount || !preempts;
            return Some(fits && !verdict.text().contains(&lacks_quota));
        }
        let decision = explained.now.as_ref();
        let attempts = decision.map(|decision| &decision.pod_sets[0].attempts);
        let attempt = attempts.and_then(|all| all.iter().find(|a| &*a.flavor == flavor));
        attempt.map(|attempt| {
            let cpu = attempt
                .resources
                .iter()
                .find(|r| r.resource.as_str() == "cpu");
            cpu.is_some_and(|cpu| !cpu.missing.is_positive())
        })
    };
    if fits_with(amount) == Some(false) {
        return Err(format!("with {amount} more it does not fit"));
    }
    if fits_with(amount - 1) == Some(true) {
        return Err(format!("with {} more it fits", amount - 1));
    }
    Ok(())
}

/// The preemption targets release enough, and are evicted when the workload is the head.
fn check_victims(
    state: &EngineState,
    key: &WorkloadKey,
    decision: &Decision,
) -> Result<(), String> {
    if decision.victims.is_empty() {
        return Ok(());
    }
    let named: BTreeSet<WorkloadKey> = decision
        .victims
        .iter()
        .map(|v| v.workload.clone())
        .collect();
    let mut without = state.clone();
    for victim in &named {
        without.driver.engine_mut().apply(
            ObjectChange::Delete(DeletedObject::Workload(victim.clone())),
            state.now,
        );
    }
    let mode = without.mode(key);
    if mode != Some(FlavorAssignmentMode::Fit) {
        return Err(format!("without its targets it has the mode {mode:?}"));
    }
    Ok(())
}

/// Candidates that do not suffice together do not suffice; those that are spared are not needed.
fn check_candidates(
    state: &EngineState,
    key: &WorkloadKey,
    decision: &Decision,
) -> Result<(), String> {
    let with_outcome = |outcome: CandidateOutcome| -> BTreeSet<WorkloadKey> {
        let candidates = decision.candidates.iter();
        let found = candidates.filter(|candidate| candidate.outcome == outcome);
        found.map(|candidate| candidate.workload.clone()).collect()
    };
    let victims: BTreeSet<WorkloadKey> = decision
        .victims
        .iter()
        .map(|v| v.workload.clone())
        .collect();
    let of_candidates = with_outcome(CandidateOutcome::Victim);
    if decision.candidate_count == decision.candidates.len() && !of_candidates.is_subset(&victims) {
        return Err(format!("victims {victims:?}, candidates {of_candidates:?}"));
    }
    let insufficient = with_outcome(CandidateOutcome::Insufficient);
    if insufficient.is_empty() {
        return Ok(());
    }
    if !victims.is_empty() {
        return Err("candidates do not suffice, and there are targets".to_owned());
    }
    let mut without = state.clone();
    for candidate in &insufficient {
        without.driver.engine_mut().apply(
            ObjectChange::Delete(DeletedObject::Workload(candidate.clone())),
            state.now,
        );
    }
    let then = without.explain(key).now.unwrap();
    // The search is in the flavors that are assigned before it.
    if flavors(&then) != flavors(decision) {
        return Ok(());
    }
    // Workloads may borrow, although none is preempted for one that borrows.
    let may_borrow = decision.shortage.as_ref().is_none_or(|s| s.borrowing);
    match then.mode {
        Some(FlavorAssignmentMode::Fit) if may_borrow || then.borrowing == 0 => Err(format!(
            "{insufficient:?} do not suffice, and without them it fits"
        )),
        _ => Ok(()),
    }
}

/// The flavors of the pod sets, by resource.
fn flavors(decision: &Decision) -> Vec<(ResourceName, &str)> {
    let pod_sets = decision.pod_sets.iter();
    let flavors = pod_sets.flat_map(|pod_set| &pod_set.flavors);
    let flavors = flavors.map(|(resource, choice)| (*resource, &*choice.flavor));
    flavors.collect()
}

/// Each change admits it, and the named workloads are preempted.
fn check_changes(state: &EngineState, key: &WorkloadKey) -> Result<(), String> {
    let classes = [PriorityClass {
        name: "high".to_owned(),
        value: 3,
    }];
    let mut engine = state.driver.engine().clone();
    let explained = explain_workload(&mut engine, &classes, key, state.now).unwrap();
    for change in &explained.changes.admitting_changes {
        check_change(state, key, change)?;
    }
    Ok(())
}

fn check_change(
    state: &EngineState,
    key: &WorkloadKey,
    verified: &VerifiedChange,
) -> Result<(), String> {
    let mut changed = state.clone();
    changed.apply_change(key, &verified.change);
    let Some(events) = changed.settle() else {
        return Err(format!("{verified}: it does not settle"));
    };
    if !changed.admits(key) {
        let then = changed
            .explain(key)
            .verdict
            .map(|verdict| verdict.to_string());
        return Err(format!(
            "{verified}: it is not admitted: {}",
            then.unwrap_or_default()
        ));
    }
    let named: Vec<WorkloadKey> = verified
        .preemptions
        .iter()
        .map(|p| p.workload.clone())
        .collect();
    let evicted = events.into_iter().filter_map(|event| match event {
        DriverEvent::Evicted { workload, .. } => Some(workload),
        DriverEvent::Admitted(_) => None,
    });
    let evicted: Vec<WorkloadKey> = evicted.collect();
    match named == evicted {
        true => Ok(()),
        false => Err(format!("{verified}: preempted are {evicted:?}")),
    }
}

impl EngineState {
    /// Adds nominal quota to a ClusterQueue.
    fn add_nominal(&mut self, queue: &str, flavor: &str, more: i64) {
        use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
        let mut queue = ClusterQueue::clone(self.driver.engine().cluster_queue(queue).unwrap());
        let groups = queue.spec.resource_groups.iter_mut();
        let mut flavors = groups.flat_map(|group| &mut group.flavors);
        let quotas = flavors.find(|quotas| quotas.name == flavor).unwrap();
        let quota = &mut quotas.resources[0];
        let now: i64 = quota.nominal_quota.0.parse().unwrap();
        quota.nominal_quota = Quantity((now + more).to_string());
        let now = self.now;
        self.driver
            .engine_mut()
            .apply(ObjectChange::upsert(queue), now);
    }
}
