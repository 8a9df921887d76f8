//! Warnings about policies of ClusterQueues towards other members of their cohort.

use std::collections::BTreeMap;

use super::Lint;
use super::engine_quotas::EngineQuotas;
use super::queue_fields::{QuotaFields, policy, quotas};
use crate::Manifest;
use kueue_lab_json::ValueExt;

/// Policies towards other queues of a ClusterQueue that has no cohort.
pub(super) fn without_cohort(queue: &Manifest) -> Vec<Lint> {
    if !queue.object.text("/spec/cohortName").is_empty() {
        return Vec::new();
    }
    let policies = [
        (
            "/spec/preemption/reclaimWithinCohort",
            "reclaimWithinCohort",
        ),
        (
            "/spec/preemption/borrowWithinCohort/policy",
            "borrowWithinCohort",
        ),
    ];
    let set = policies
        .into_iter()
        .filter_map(|(path, name)| Some((name, policy(queue, path)?)));
    set.map(|(name, value)| {
        let message = format!(
            "{name}: {value} never finds a victim: the ClusterQueue is in no cohort, so no other queue uses its quota"
        );
        let finding = queue.warning(&format!("spec.preemption.{name}"), message);
        Lint {
            name: "policy-without-victims",
            finding: finding.remedy("set cohortName, or remove the policy"),
        }
    })
    .collect()
}

/// Policies towards other queues of a ClusterQueue in a cohort, with which its workloads never preempt any.
///
/// Only workloads of ClusterQueues that use more than their nominal quota can be preempted. Without fair sharing, and
/// without borrowing, quota is reclaimed for workloads within the nominal quota, as far as it is lent; below a parent
/// the quota of the Cohort counts too. Upstream reads `borrowWithinCohort` only without fair sharing.
pub(super) fn without_victims(
    queue: &Manifest,
    members: &CohortMembers<'_>,
    engine: &EngineQuotas,
    fair_sharing: bool,
) -> Option<Lint> {
    let reclaims = policy(queue, "/spec/preemption/reclaimWithinCohort")?;
    let quotas = quotas(queue);
    if !members.is_in_cohort(queue) || members.is_alone(queue) || quotas.is_empty() {
        return None;
    }
    let borrows = policy(queue, "/spec/preemption/borrowWithinCohort/policy");
    let can_borrow = quotas.iter().any(|q| engine.can_borrow(queue, q));
    let others = |q: &QuotaFields<'_>| engine.others_can_borrow(queue, q);
    let has_nominal = quotas.iter().any(|quota| quota.nominal() > 0);
    let reclaims_nominal = quotas.iter().any(|q| others(q) && engine.lends(queue, q));
    let borrows_without_fair_sharing = borrows.is_some() && can_borrow && !fair_sharing;
    let reclaim = |why: &str, remedy: &str| {
        let name = "reclaimWithinCohort";
        Some(never(queue, name, reclaims, why, remedy))
    };
    if !quotas.iter().any(others) {
        return reclaim(
            "no other ClusterQueue of the cohort can borrow quota of the flavors and resources of this one",
            "remove the policy, or let other ClusterQueues borrow",
        );
    }
    if !fair_sharing
        && !members.has_parent(queue)
        && !borrows_without_fair_sharing
        && !reclaims_nominal
    {
        return match has_nominal {
            false => reclaim(
                "it reclaims nominal quota, of which the ClusterQueue has none",
                "set a nominalQuota or borrowWithinCohort, or remove the policy",
            ),
            true => reclaim(
                "it reclaims nominal quota that others borrow, and the ClusterQueue lends none of it",
                "set a higher lendingLimit or borrowWithinCohort, or remove the policy",
            ),
        };
    }
    let borrow = |why: &str, remedy: &str| {
        let name = "borrowWithinCohort";
        Some(never(queue, name, borrows?, why, remedy))
    };
    match (fair_sharing, can_borrow) {
        (true, _) => borrow(
            "with fair sharing the shares decide about preemption by workloads that borrow",
            "remove it",
        ),
        (false, false) => borrow(
            "it is for workloads that borrow, and the ClusterQueue cannot borrow",
            "remove it, or let the ClusterQueue borrow",
        ),
        (false, true) => None,
    }
}

fn never(queue: &Manifest, name: &str, value: &str, why: &str, remedy: &str) -> Lint {
    let message = format!("{name}: {value} never finds a victim: {why}");
    Lint {
        name: "policy-without-victims",
        finding: queue
            .warning(&format!("spec.preemption.{name}"), message)
            .remedy(remedy),
    }
}

/// The ClusterQueues of a cohort and the Cohorts.
pub(super) struct CohortMembers<'m> {
    queues: &'m [&'m Manifest],
    cohorts: &'m [&'m Manifest],
    /// The number of ClusterQueues of each cohort.
    sizes: BTreeMap<&'m str, usize>,
}

impl<'m> CohortMembers<'m> {
    pub(super) fn new(queues: &'m [&'m Manifest], cohorts: &'m [&'m Manifest]) -> Self {
        let mut sizes = BTreeMap::new();
        for queue in queues {
            *sizes.entry(cohort_of(queue)).or_default() += 1;
        }
        Self {
            queues,
            cohorts,
            sizes,
        }
    }

    fn is_in_cohort(&self, queue: &Manifest) -> bool {
        !cohort_of(queue).is_empty()
    }

    fn has_parent(&self, queue: &Manifest) -> bool {
        let cohort = cohort_of(queue);
        self.cohorts.iter().any(|other| {
            other.key.name == cohort && !other.object.text("/spec/parentName").is_empty()
        })
    }

    /// Whether the cohort has no other ClusterQueue, no quota of its own and no relatives.
    fn is_alone(&self, queue: &Manifest) -> bool {
        let cohort = cohort_of(queue);
        // A Cohort object can have quota, a parent or children.
        let is_plain = || {
            self.cohorts.iter().all(|other| {
                let is_named = other.key.name == cohort;
                let is_child = other.object.text("/spec/parentName") == cohort;
                let has_parent = !other.object.text("/spec/parentName").is_empty();
                let has_quota = other.object["spec"]["resourceGroups"].is_array();
                !is_child && !(is_named && (has_parent || has_quota))
            })
        };
        !cohort.is_empty() && self.sizes.get(cohort) == Some(&1) && is_plain()
    }

    /// Cohorts with one ClusterQueue, no quota of their own and no relatives: nothing can be borrowed.
    pub(super) fn cohorts_of_one(&self) -> Vec<Lint> {
        let without_others = self.queues.iter().filter(|queue| self.is_alone(queue));
        without_others
            .map(|queue| {
                let message = format!(
                    "the cohort {:?} has no other ClusterQueue and no quota, so there is nothing to borrow and no ClusterQueue to lend to",
                    cohort_of(queue)
                );
                Lint {
                    name: "cohort-of-one",
                    finding: queue.warning("spec.cohortName", message),
                }
            })
            .collect()
    }
}

fn cohort_of(queue: &Manifest) -> &str {
    queue.object.text("/spec/cohortName")
}
