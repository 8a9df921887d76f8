//! Warnings about ClusterQueues whose workloads can wait for ever.

use super::Lint;
use super::borrowers::Borrowers;
use super::queue_fields::{amount, policy, quotas};
use crate::Manifest;
use kueue_lab_json::ValueExt;

/// Whether workloads can be submitted to a ClusterQueue and admitted: it is not stopped, and has a LocalQueue. If
/// there are no LocalQueues at all, they are elsewhere.
pub(super) fn has_workloads(queue: &Manifest, local_queues: &[&Manifest]) -> bool {
    let is_stopped = matches!(
        queue.object.text("/spec/stopPolicy"),
        "Hold" | "HoldAndDrain"
    );
    let is_of_queue = |local: &&Manifest| local.object.text("/spec/clusterQueue") == queue.key.name;
    !is_stopped && (local_queues.is_empty() || local_queues.iter().any(is_of_queue))
}

/// A ClusterQueue that lends all of a quota and cannot reclaim it.
pub(super) fn starving_queue(queue: &Manifest, all: &Borrowers<'_>) -> Option<Lint> {
    if policy(queue, "/spec/preemption/reclaimWithinCohort").is_some() {
        return None;
    }
    quotas(queue).into_iter().find_map(|quota| {
        let nominal = quota.nominal();
        let limit = amount(quota.fields, "lendingLimit");
        if nominal <= 0 || limit.is_some_and(|limit| limit < nominal) {
            return None;
        }
        let borrowers = all.of_all(queue, &quota);
        let names: Vec<&str> = borrowers.iter().map(|b| b.key.name.as_str()).collect();
        let borrowers = match names.as_slice() {
            [] => return None,
            [one] => format!("ClusterQueue {one}"),
            names => format!("the ClusterQueues {} together", names.join(", ")),
        };
        let message = format!(
            "workloads of this ClusterQueue can wait for ever: {borrowers} can borrow all of its {}, which it does not reclaim",
            quota.resource
        );
        let finding = queue.warning(&format!("{}.nominalQuota", quota.path), message);
        let remedy = "set reclaimWithinCohort, or a lendingLimit below nominalQuota";
        Some(Lint {
            name: "starving-queue",
            finding: finding.remedy(remedy),
        })
    })
}
