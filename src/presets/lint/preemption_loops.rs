//! Warnings about preemptions that can repeat for ever.

use super::Lint;
use super::cohort_tree::CohortTree;
use super::queue_fields::{Quota, policy, quotas};
use crate::Manifest;

/// ClusterQueues that preempt in their cohort and in themselves, with fair sharing.
///
/// The targets of fair sharing are chosen with a workload of the preemptor's own ClusterQueue removed, which
/// lowers its share. If the others suffice, that workload stays, the share is higher, and a target with a
/// lower share is admitted again before the preemptor.
pub(super) fn preemption_loops(queue: &Manifest, tree: &CohortTree<'_>) -> Option<Lint> {
    policy(queue, "/spec/preemption/withinClusterQueue")?;
    policy(queue, "/spec/preemption/reclaimWithinCohort")?;
    let all = quotas(queue);
    let mut shared = all.iter().filter(|quota| quota.can_borrow());
    let other = shared.find_map(|quota: &Quota<'_>| tree.borrower(queue, quota))?;
    let message = format!(
        "with fair sharing, this and reclaimWithinCohort can preempt in a loop: a preempted workload of ClusterQueue {} is admitted again before the workload that preempted it, because the latter borrows more than its preemption assumed",
        other.key.name
    );
    let finding = queue.warning("spec.preemption.withinClusterQueue", message);
    Some(Lint {
        name: "preemption-loop",
        finding: finding.remedy("set withinClusterQueue: Never, or borrowingLimit: 0"),
    })
}
