//! The status of a Deployment. Pure.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetCondition};

use super::deployment_util::{self, available, int32, replicas, size};
use super::progress::{Conditions, PROGRESSING, sync_rollout_status};

const AVAILABLE: &str = "Available";
const FAILURE: &str = "ReplicaFailure";

/// Replica counts and conditions for the ReplicaSets `all`. `created` is the name of one that was just
/// created.
pub(super) fn status(
    deployment: &Deployment,
    all: &[ReplicaSet],
    rollout: bool,
    created: Option<&str>,
    now: Timestamp,
) -> DeploymentStatus {
    let new = deployment_util::find_new_replica_set(deployment, all).map(|at| &all[at]);
    let before = deployment.status.clone().unwrap_or_default();
    let mut status = calculate_status(deployment, all, new);
    status.conditions = before.conditions.clone();
    status.collision_count = before.collision_count;
    let mut conditions = Conditions {
        list: status.conditions.take().unwrap_or_default(),
        now,
    };
    let (_, missing) = deployment_util::resolve_fenceposts(deployment);
    let running = i64::from(status.available_replicas.unwrap_or(0));
    if running >= replicas(deployment) - missing {
        let text = "Deployment has minimum availability.";
        conditions.set(
            AVAILABLE,
            "True",
            "MinimumReplicasAvailable",
            text.to_string(),
        );
    } else {
        let text = "Deployment does not have minimum availability.";
        conditions.set(
            AVAILABLE,
            "False",
            "MinimumReplicasUnavailable",
            text.to_string(),
        );
    }
    let deadline = deployment
        .spec
        .as_ref()
        .and_then(|s| s.progress_deadline_seconds);
    match deadline.filter(|seconds| *seconds != i32::MAX) {
        None => conditions.remove(PROGRESSING),
        Some(seconds) => {
            sync_rollout_status(
                deployment,
                &status,
                new,
                rollout,
                created,
                seconds,
                &mut conditions,
            );
        }
    }
    match replica_failure(all, new) {
        Some(failed) => conditions.set(
            FAILURE,
            &failed.status,
            failed.reason.as_deref().unwrap_or_default(),
            failed.message.clone().unwrap_or_default(),
        ),
        None => conditions.remove(FAILURE),
    }
    status.conditions = Some(conditions.list).filter(|c| !c.is_empty());
    status
}

fn calculate_status(
    deployment: &Deployment,
    all: &[ReplicaSet],
    new: Option<&ReplicaSet>,
) -> DeploymentStatus {
    let some = |count: i64| Some(int32(count)).filter(|n| *n > 0);
    let sum = |of: &dyn Fn(&ReplicaSet) -> i64| all.iter().map(of).sum::<i64>();
    let actual = |set: &ReplicaSet| set.status.as_ref().map_or(0, |s| i64::from(s.replicas));
    let number = |get: fn(&k8s_openapi::api::apps::v1::ReplicaSetStatus) -> Option<i32>| {
        sum(&|set| set.status.as_ref().and_then(get).unwrap_or(0).into())
    };
    let running = sum(&available);
    DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(&actual)),
        updated_replicas: some(new.map_or(0, actual)),
        ready_replicas: some(number(|s| s.ready_replicas)),
        available_replicas: some(running),
        unavailable_replicas: some(sum(&size) - running),
        terminating_replicas: Some(int32(number(|s| s.terminating_replicas))),
        collision_count: None,
        conditions: None,
    }
}

/// The ReplicaFailure condition of the new ReplicaSet, or of an old one.
fn replica_failure(all: &[ReplicaSet], new: Option<&ReplicaSet>) -> Option<ReplicaSetCondition> {
    let sets = new.into_iter().chain(all);
    let mut conditions = sets
        .filter_map(|s| s.status.as_ref()?.conditions.as_ref())
        .flatten();
    conditions.find(|c| c.type_ == FAILURE).cloned()
}
