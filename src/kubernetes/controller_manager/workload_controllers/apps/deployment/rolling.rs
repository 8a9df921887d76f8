//! Rolling updates of a Deployment.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;

use super::deployment_util::{self, available, replicas, size};
use super::sync_deployment::{DeploymentPlan, cleanup_deployment, deployment_complete};
use kueue_lab_controller_utils::pods;

/// Scales the new ReplicaSet up and old ones down within `maxSurge` and `maxUnavailable`.
pub(super) fn rollout_rolling(
    deployment: &Deployment,
    new: Option<ReplicaSet>,
    old: &[&ReplicaSet],
    revision: i64,
    plan: &mut DeploymentPlan,
) {
    let desired = replicas(deployment);
    let (max_surge, max_unavailable) = deployment_util::resolve_fenceposts(deployment);
    let old_size: i64 = old.iter().map(|s| size(s)).sum();
    let scale_up_limit = |current: i64| (desired + max_surge - old_size - current).max(0);
    let Some(new) = new else {
        if let Some(spec) = &deployment.spec {
            let mut set = deployment_util::new_replica_set(deployment, spec, revision);
            deployment_util::set_replicas(&mut set, deployment, scale_up_limit(0).min(desired));
            plan.revision = Some(revision);
            plan.create = Some(set);
        }
        return;
    };
    let current = size(&new);
    let target = if current > desired {
        desired
    } else {
        current + scale_up_limit(current).min(desired - current)
    };
    if plan.scale_replica_set(deployment, &new, target) {
        return;
    }
    let max_scaled_down =
        old_size + current - (desired - max_unavailable) - (current - available(&new));
    if old_size > 0 && max_scaled_down > 0 {
        reconcile_old_replica_sets(
            deployment,
            &new,
            old,
            max_scaled_down,
            desired - max_unavailable,
            plan,
        );
        if !plan.update.is_empty() {
            return;
        }
    }
    if deployment_complete(deployment) {
        cleanup_deployment(deployment, old, plan);
    }
}

/// Scales down old ReplicaSets: first up to `max_scaled_down` unavailable pods, then available ones
/// beyond `min_available`.
fn reconcile_old_replica_sets(
    deployment: &Deployment,
    new: &ReplicaSet,
    old: &[&ReplicaSet],
    max_scaled_down: i64,
    min_available: i64,
    plan: &mut DeploymentPlan,
) {
    let mut old: Vec<(&ReplicaSet, i64)> = old.iter().map(|s| (*s, size(s))).collect();
    old.sort_by_key(|(set, _)| (pods::created(*set), set.name_any()));
    let mut left = max_scaled_down;
    for (set, target) in &mut old {
        let unhealthy = (*target - available(set)).max(0).min(left);
        *target -= unhealthy;
        left -= unhealthy;
    }
    let running: i64 = old.iter().map(|(set, _)| available(set)).sum();
    let mut left = (running + available(new) - min_available).max(0);
    for (_, target) in &mut old {
        let scaled_down = (*target).min(left);
        *target -= scaled_down;
        left -= scaled_down;
    }
    for (set, target) in old {
        plan.scale_replica_set(deployment, set, target);
    }
}
