//! The invariants, computed from the objects alone.

use std::collections::BTreeMap;

use kueue_lab_api::v1beta2::{Admission, Workload};
use kueue_lab_engine::cycle::Decision;
use kueue_lab_engine::engine::PendingState;
use kueue_lab_engine::flavor_assigner::FlavorAssignmentMode;
use kueue_lab_engine::preemption::{CandidateOutcome, PreemptionReason};
use kueue_lab_engine::topology_assignment::decode;
use kueue_lab_engine::workload::predicates;
use proptest::test_runner::TestCaseError;

use super::engine_fixture::{EngineFixture, HOST_CPUS};
use super::history::{Quota, Setup};

type CheckResult = Result<(), TestCaseError>;

fn fail(text: String) -> CheckResult {
    Err(TestCaseError::fail(text))
}

/// Checks all invariants; those of decisions only directly after a cycle.
pub(crate) fn check(lab: &EngineFixture, after_cycle: bool) -> CheckResult {
    reported_usage_is_consistent(lab, &usage(admitted(lab)))?;
    let staying = usage(admitted_and_not_evicted(lab));
    for flavor in 0..lab.setup.queues[0].quotas.len() {
        FlavorUsageTree {
            setup: &lab.setup,
            used: &staying,
            flavor,
        }
        .check()?;
    }
    if lab.setup.hosts.is_some() {
        hosts(lab)?;
    }
    workloads_are_queued(lab)?;
    if let Some(cycle) = lab.cycles.last().filter(|_| after_cycle) {
        for decision in &cycle.decisions {
            victims(lab, decision)?;
            reasons(decision)?;
        }
    }
    Ok(())
}

fn number(name: &str) -> usize {
    name.rsplit('-').next().unwrap().parse().unwrap()
}

/// The workloads with quota reserved, and their Admissions.
fn admitted(lab: &EngineFixture) -> impl Iterator<Item = (&Workload, &Admission)> {
    lab.engine.workloads().filter_map(|wl| {
        // A deactivated workload does not count, though it may still have an Admission.
        let holds = predicates::has_quota_reservation(wl)
            && !predicates::is_finished(wl)
            && wl.spec.is_active();
        Some((&**wl, wl.status.admission.as_ref().filter(|_| holds)?))
    })
}

/// Those that are not evicted. As in upstream, the quota of a preemption target can be assigned to
/// another workload in the same cycle, so until the target is gone usage can exceed quota, but the usage
/// of the remaining workloads cannot.
fn admitted_and_not_evicted(lab: &EngineFixture) -> impl Iterator<Item = (&Workload, &Admission)> {
    admitted(lab).filter(|(wl, _)| !predicates::is_evicted(wl))
}

/// No host has more pods than its capacity, and every pod has a host.
fn hosts(lab: &EngineFixture) -> CheckResult {
    let mut used: BTreeMap<String, i64> = BTreeMap::new();
    for (wl, admission) in admitted_and_not_evicted(lab) {
        let key = predicates::key(wl);
        for (pods, set) in admission.pod_set_assignments.iter().zip(&wl.spec.pod_sets) {
            let Some(placed) = &pods.topology_assignment else {
                return fail(format!("{key} has no topology assignment"));
            };
            let container = &set.template.spec.as_ref().unwrap().containers[0];
            let requests = container.resources.as_ref().unwrap().requests.as_ref();
            let cpu: i64 = requests.unwrap()["cpu"].0.parse().unwrap();
            let domains = decode(placed).domains;
            let count: i32 = domains.iter().map(|d| d.count).sum();
            if pods.count != Some(count) {
                return fail(format!(
                    "{key}: {count} pods have places of {:?}",
                    pods.count
                ));
            }
            for domain in domains {
                let host = domain.values.last().unwrap().clone();
                *used.entry(host).or_default() += cpu * i64::from(domain.count);
            }
        }
    }
    match used.iter().find(|(_, used)| **used > HOST_CPUS) {
        Some((host, used)) => fail(format!("{host} has pods of {used} CPUs")),
        None => Ok(()),
    }
}

/// The flavors, candidates and preemption targets of a decision are consistent.
fn reasons(decision: &Decision) -> CheckResult {
    let attempts = decision.pod_sets.iter().flat_map(|ps| ps.attempts.iter());
    for attempt in attempts.filter(|a| a.mode == FlavorAssignmentMode::Fit) {
        let has_reason = attempt.resources.iter().any(|r| r.missing.is_positive());
        if has_reason || attempt.mismatch.is_some() {
            return fail(format!("an attempt that fits has a reason: {attempt:?}"));
        }
    }
    let candidates = &decision.candidates;
    for victim in &decision.victims {
        let Some(index) = victim.candidate_index.filter(|_| victim.variant.is_some()) else {
            return fail(format!("no reason for {victim:?}"));
        };
        // Only the first candidates are reported.
        if let Some(candidate) = candidates.get(index)
            && (candidate.workload != victim.workload
                || candidate.outcome != CandidateOutcome::Victim)
        {
            return fail(format!("{candidate:?} is not {victim:?}"));
        }
    }
    Ok(())
}

/// Usage according to Admissions, by ClusterQueue and flavor.
fn usage<'a>(
    admitted: impl Iterator<Item = (&'a Workload, &'a Admission)>,
) -> BTreeMap<(usize, usize), i64> {
    let mut used = BTreeMap::new();
    for (_, admission) in admitted {
        for pods in &admission.pod_set_assignments {
            for (resource, flavor) in &pods.flavors {
                let amount: i64 = pods.resource_usage[resource].0.parse().unwrap();
                *used
                    .entry((number(&admission.cluster_queue), number(flavor)))
                    .or_default() += amount;
            }
        }
    }
    used
}

/// The usage that the engine reports equals the sum of Admissions, so simulations were reverted.
fn reported_usage_is_consistent(
    lab: &EngineFixture,
    used: &BTreeMap<(usize, usize), i64>,
) -> CheckResult {
    let mut engine = lab.engine.clone();
    for i in 0..lab.setup.queues.len() {
        let report = engine.cluster_queue_usage(&format!("queue-{i}")).unwrap();
        for flavor in &report.reserved {
            let reported: i64 = flavor.resources[0].total.0.parse().unwrap();
            let is = used.get(&(i, number(&flavor.name))).copied().unwrap_or(0);
            if reported != is {
                return fail(format!(
                    "queue-{i} reports {reported} of {}, not {is}",
                    flavor.name
                ));
            }
        }
    }
    Ok(())
}

/// The quota of one flavor in the cohort tree.
struct FlavorUsageTree<'a> {
    setup: &'a Setup,
    used: &'a BTreeMap<(usize, usize), i64>,
    flavor: usize,
}

/// The quota and usage of a ClusterQueue or cohort as seen by its parent.
struct SubtreeUsage {
    quota: i64,
    usage: i64,
}

impl FlavorUsageTree<'_> {
    fn check(&self) -> CheckResult {
        for (i, queue) in self.setup.queues.iter().enumerate() {
            if queue.cohort.is_none() {
                let (quota, used) = (queue.quotas[self.flavor].nominal, self.used_by(i));
                if used > quota {
                    return fail(format!("queue-{i} uses {used} of {quota}"));
                }
            }
        }
        for (i, cohort) in self.setup.cohorts.iter().enumerate() {
            if cohort.parent.is_none() {
                let root = self.cohort(i)?;
                if root.usage > root.quota {
                    return fail(format!("below cohort-{i} {} of {}", root.usage, root.quota));
                }
            }
        }
        Ok(())
    }

    fn used_by(&self, queue: usize) -> i64 {
        self.used.get(&(queue, self.flavor)).copied().unwrap_or(0)
    }

    /// The quota that a child lends to the cohort and its usage there.
    fn to_parent(
        &self,
        name: &str,
        quota: &Quota,
        part: &SubtreeUsage,
    ) -> Result<SubtreeUsage, TestCaseError> {
        if let Some(limit) = quota.borrowing_limit
            && part.usage > part.quota + limit
        {
            let (takes, has) = (part.usage, part.quota);
            return Err(TestCaseError::fail(format!(
                "{name} uses {takes} of {has} and at most {limit} more"
            )));
        }
        let lent = quota.lending_limit.unwrap_or(part.quota).min(part.quota);
        let kept = part.quota - lent;
        Ok(SubtreeUsage {
            quota: lent,
            usage: (part.usage - kept).max(0),
        })
    }

    /// The quota and usage of a cohort subtree.
    fn cohort(&self, i: usize) -> Result<SubtreeUsage, TestCaseError> {
        let nothing = Quota::default();
        let own = |cohort: usize| {
            let quota = self.setup.cohorts[cohort].quota.as_ref();
            quota
                .filter(|_| self.flavor == 0)
                .unwrap_or(&nothing)
                .clone()
        };
        let mut sum = SubtreeUsage {
            quota: own(i).nominal,
            usage: 0,
        };
        let mut add = |part: SubtreeUsage| {
            sum.quota += part.quota;
            sum.usage += part.usage;
        };
        for (q, queue) in self.setup.queues.iter().enumerate() {
            if queue.cohort == Some(i) {
                let quota = &queue.quotas[self.flavor];
                let part = SubtreeUsage {
                    quota: quota.nominal,
                    usage: self.used_by(q),
                };
                add(self.to_parent(&format!("queue-{q}"), quota, &part)?);
            }
        }
        for (child, cohort) in self.setup.cohorts.iter().enumerate() {
            if cohort.parent == Some(i) {
                let part = self.cohort(child)?;
                add(self.to_parent(&format!("cohort-{child}"), &own(child), &part)?);
            }
        }
        Ok(sum)
    }
}

/// Every pending workload is in its queue, and no other workload is in a queue.
fn workloads_are_queued(lab: &EngineFixture) -> CheckResult {
    for wl in lab.engine.workloads() {
        let place = lab.engine.pending_state(&predicates::key(wl));
        let waits = predicates::is_admissible(wl, &lab.engine.config().gates);
        let right = match place {
            None => !waits,
            Some(PendingState::Active | PendingState::Inadmissible) => waits,
            Some(PendingState::Inflight) => false,
        };
        if !right {
            let name = predicates::key(wl);
            return fail(format!("{name} is in {place:?}, pending: {waits}"));
        }
    }
    Ok(())
}

/// Every preemption target is permitted by the policies.
fn victims(lab: &EngineFixture, decision: &Decision) -> CheckResult {
    use PreemptionReason as R;
    let queue = &lab.setup.queues[number(&decision.cluster_queue)];
    let workload = |key| lab.engine.workload(key).cloned();
    let Some(preemptor) = workload(&decision.workload) else {
        return Ok(());
    };
    let priority = |wl: &Workload| wl.spec.priority.unwrap_or(0);
    for victim in &decision.victims {
        let Some(wl) = workload(&victim.workload) else {
            continue;
        };
        let lower = priority(&wl) < priority(&preemptor);
        let equal = priority(&wl) == priority(&preemptor);
        let same = victim.cluster_queue == decision.cluster_queue;
        let allowed = match victim.reason {
            Some(R::InClusterQueue) => {
                let newer = queue.within_cluster_queue == "LowerOrNewerEqualPriority" && equal;
                same && queue.within_cluster_queue != "Never" && (lower || newer)
            }
            Some(R::InCohortReclamation | R::InCohortFairSharing) => {
                !same
                    && (queue.reclaim_within_cohort == "Any"
                        || (queue.reclaim_within_cohort == "LowerPriority" && lower))
            }
            Some(R::InCohortReclaimWhileBorrowing) => {
                let threshold = queue.borrow_within_cohort.flatten();
                !same
                    && lower
                    && queue.borrow_within_cohort.is_some()
                    && threshold.is_none_or(|t| priority(&wl) <= t)
            }
            None => false,
        };
        if !allowed {
            return fail(format!("{victim:?} of {decision:?} with {queue:?}"));
        }
    }
    Ok(())
}
