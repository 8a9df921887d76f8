//! Rolling updates of a Deployment.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;

use super::deployment_util::{self, available, replicas, size};
use super::sync_deployment::{DeploymentPlan, cleanup_deployment, deployment_complete};
use crate::workload_controllers::pods;

/// Scales the new ReplicaSet up and old ones down within `maxSurge` and `maxUnavailable`.
pub(super) fn rollout_rolling(
    deployment: &Deployment,
    new: Option<ReplicaSet>,
    old: &[&ReplicaSet],
    revision: i64,
    plan: &mut DeploymentPlan,
) {
    let wanted = replicas(deployment);
    let (surge, missing) = deployment_util::resolve_fenceposts(deployment);
    let old_size: i32 = old.iter().map(|s| size(s)).sum();
    let headroom = |have: i32| (wanted + surge - old_size - have).max(0);
    let Some(new) = new else {
        if let Some(spec) = &deployment.spec {
            let mut set = deployment_util::new_replica_set(deployment, spec, revision);
            deployment_util::set_replicas(&mut set, deployment, headroom(0).min(wanted));
            plan.revision = Some(revision);
            plan.create = Some(set);
        }
        return;
    };
    let have = size(&new);
    let target = if have > wanted {
        wanted
    } else {
        have + headroom(have).min(wanted - have)
    };
    if plan.scale_replica_set(deployment, &new, target) {
        return;
    }
    let spare = old_size + have - (wanted - missing) - (have - available(&new));
    if old_size > 0 && spare > 0 {
        reconcile_old_replica_sets(deployment, &new, old, spare, wanted - missing, plan);
        if !plan.update.is_empty() {
            return;
        }
    }
    if deployment_complete(deployment) {
        cleanup_deployment(deployment, old, plan);
    }
}

/// Scales down old ReplicaSets: first up to `spare` unavailable pods, then available ones beyond
/// `least`.
fn reconcile_old_replica_sets(
    deployment: &Deployment,
    new: &ReplicaSet,
    old: &[&ReplicaSet],
    spare: i32,
    least: i32,
    plan: &mut DeploymentPlan,
) {
    let mut old: Vec<(&ReplicaSet, i32)> = old.iter().map(|s| (*s, size(s))).collect();
    old.sort_by_key(|(set, _)| (pods::created(*set), set.name_any()));
    let mut left = spare;
    for (set, target) in &mut old {
        let broken = (*target - available(set)).max(0).min(left);
        *target -= broken;
        left -= broken;
    }
    let running: i32 = old.iter().map(|(set, _)| available(set)).sum();
    let mut left = (running + available(new) - least).max(0);
    for (_, target) in &mut old {
        let taken = (*target).min(left);
        *target -= taken;
        left -= taken;
    }
    for (set, target) in old {
        plan.scale_replica_set(deployment, set, target);
    }
}
