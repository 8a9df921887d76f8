//! Pending workloads of a queue.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::types::{PendingWorkload, PendingWorkloadsSummary};
use kueue_lab_api::constants::{DEFAULT_PENDING_WORKLOADS_LIMIT, MAX_PENDING_WORKLOADS_LIMIT};
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::PendingPosition;
use kueue_lab_engine::workload::LocalQueueKey;

/// The limit and offset of a request, with the default limit for 0 and within their bounds.
pub fn bounded_limit_offset(limit: i64, offset: i64) -> (usize, usize) {
    let limit = match limit {
        0 => DEFAULT_PENDING_WORKLOADS_LIMIT,
        limit => limit.clamp(0, MAX_PENDING_WORKLOADS_LIMIT),
    };
    let size = |n: i64| usize::try_from(n).unwrap_or(0);
    (size(limit), size(offset))
}

/// The pending workloads of a ClusterQueue. None if it does not exist.
pub fn pending_workloads_in_cluster_queue(
    engine: &Engine,
    name: &str,
    (limit, offset): (usize, usize),
) -> Option<PendingWorkloadsSummary> {
    let found = engine.pending_positions(name, offset, limit)?;
    Some(summary(found.iter()))
}

/// The pending workloads of a LocalQueue. None if it does not exist.
pub fn pending_workloads_in_local_queue(
    engine: &Engine,
    namespace: &str,
    name: &str,
    (limit, offset): (usize, usize),
) -> Option<PendingWorkloadsSummary> {
    let key = LocalQueueKey::parse(&format!("{namespace}/{name}"));
    let queue = engine.cluster_queue_from_local_queue(&key)?;
    let all = engine.pending_positions(&queue, 0, usize::MAX);
    let all = all.unwrap_or_default();
    let of_queue = all.iter().filter(|position| {
        let wl = &position.workload;
        wl.metadata.namespace.as_deref() == Some(namespace) && wl.spec.queue_name == name
    });
    Some(summary(of_queue.skip(offset).take(limit)))
}

fn summary<'a>(positions: impl Iterator<Item = &'a PendingPosition>) -> PendingWorkloadsSummary {
    PendingWorkloadsSummary {
        items: positions.map(pending_workload).collect(),
        ..PendingWorkloadsSummary::default()
    }
}

fn pending_workload(position: &PendingPosition) -> PendingWorkload {
    let wl = &position.workload;
    let owners = wl.metadata.owner_references.iter().flatten();
    let owners: Vec<OwnerReference> = owners
        .map(|owner| OwnerReference {
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            ..OwnerReference::default()
        })
        .collect();
    PendingWorkload {
        metadata: ObjectMeta {
            name: wl.metadata.name.clone(),
            namespace: wl.metadata.namespace.clone(),
            creation_timestamp: wl.metadata.creation_timestamp.clone(),
            owner_references: (!owners.is_empty()).then_some(owners),
            ..ObjectMeta::default()
        },
        priority: wl.spec.priority.unwrap_or(0),
        local_queue_name: wl.spec.queue_name.clone(),
        position_in_cluster_queue: position.in_cluster_queue,
        position_in_local_queue: position.in_local_queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_a_default_and_bounds() {
        assert_eq!(bounded_limit_offset(0, 0), (1_000, 0));
        assert_eq!(bounded_limit_offset(-1, -1), (0, 0));
        assert_eq!(bounded_limit_offset(1_000_000, 5), (100_000, 5));
    }
}
