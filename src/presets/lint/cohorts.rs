//! Warnings about ClusterQueues without other members of their cohort.

use super::Lint;
use super::queue_fields::{policy, quotas, text};
use crate::Manifest;

/// Policies towards other queues of a ClusterQueue that has no cohort.
pub(super) fn without_cohort(queue: &Manifest) -> Vec<Lint> {
    if !text(&queue.object, "/spec/cohortName").is_empty() {
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

/// A policy towards other queues of a ClusterQueue whose workloads always borrow: without borrowing, quota is
/// reclaimed only for workloads within the nominal quota. With fair sharing shares decide, and below a parent the
/// quota of the Cohort counts too.
pub(super) fn without_nominal_quota(
    queue: &Manifest,
    cohorts: &[&Manifest],
    fair_sharing: bool,
) -> Option<Lint> {
    let cohort = text(&queue.object, "/spec/cohortName");
    let has_parent = cohorts.iter().any(|other| {
        other.key.name == cohort && !text(&other.object, "/spec/parentName").is_empty()
    });
    let borrows = policy(queue, "/spec/preemption/borrowWithinCohort/policy").is_some();
    let quotas = quotas(queue);
    let has_quota = quotas.is_empty() || quotas.iter().any(|quota| quota.nominal() > 0);
    if cohort.is_empty() || has_parent || borrows || has_quota || fair_sharing {
        return None;
    }
    let value = policy(queue, "/spec/preemption/reclaimWithinCohort")?;
    let message = format!(
        "reclaimWithinCohort: {value} never finds a victim: it reclaims nominal quota, of which the ClusterQueue has none"
    );
    let finding = queue.warning("spec.preemption.reclaimWithinCohort", message);
    Some(Lint {
        name: "policy-without-victims",
        finding: finding.remedy("set a nominalQuota or borrowWithinCohort, or remove the policy"),
    })
}

/// Cohorts with one ClusterQueue, no quota of their own and no relatives: nothing can be borrowed.
pub(super) fn cohorts_of_one(queues: &[&Manifest], cohorts: &[&Manifest]) -> Vec<Lint> {
    let cohort_of = |queue: &&&Manifest| text(&queue.object, "/spec/cohortName").to_owned();
    let lonely = queues.iter().filter(|queue| {
        let cohort = cohort_of(queue);
        let members = queues
            .iter()
            .filter(|other| cohort_of(other) == cohort)
            .count();
        // A Cohort object can have quota, a parent or children.
        let is_plain = cohorts.iter().all(|other| {
            let is_named = other.key.name == cohort;
            let is_child = text(&other.object, "/spec/parentName") == cohort;
            let has_parent = !text(&other.object, "/spec/parentName").is_empty();
            let has_quota = other.object["spec"]["resourceGroups"].is_array();
            !is_child && !(is_named && (has_parent || has_quota))
        });
        !cohort.is_empty() && members == 1 && is_plain
    });
    lonely
        .map(|queue| {
            let message = format!(
                "the cohort {:?} has no other ClusterQueue and no quota, so there is nothing to borrow and no ClusterQueue to lend to",
                cohort_of(&queue)
            );
            Lint {
                name: "cohort-of-one",
                finding: queue.warning("spec.cohortName", message),
            }
        })
        .collect()
}
