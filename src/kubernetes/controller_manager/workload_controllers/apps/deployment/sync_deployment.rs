//! The sync of a Deployment: which ReplicaSet to create, and the size of each. Pure.

use std::cmp::Reverse;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;

use super::deployment_util::{self, available, replicas, size};
use super::recreate::rollout_recreate;
use super::rolling::rollout_rolling;
use kueue_lab_controller_utils::pods;

/// The changes of one sync.
#[derive(Clone, Debug, Default)]
pub(super) struct DeploymentPlan {
    /// The new ReplicaSet to create.
    pub(super) create: Option<ReplicaSet>,
    /// ReplicaSets to update, each with its former size.
    pub(super) update: Vec<(ReplicaSet, i64)>,
    /// Names of old ReplicaSets to delete.
    pub(super) delete: Vec<String>,
    /// The revision of the rollout.
    pub(super) revision: Option<i64>,
    /// Whether a rollout is in progress, so that its progress is reported.
    pub(super) rollout: bool,
}

/// The plan for a Deployment with the ReplicaSets `all`. `old_pods` is whether pods of old
/// ReplicaSets still exist.
pub(super) fn sync_deployment(
    deployment: &Deployment,
    all: &[ReplicaSet],
    old_pods: bool,
) -> DeploymentPlan {
    let mut plan = DeploymentPlan::default();
    let Some(spec) = &deployment.spec else {
        return plan;
    };
    let new = deployment_util::find_new_replica_set(deployment, all);
    let old: Vec<&ReplicaSet> = old_replica_sets(all, new);
    let revision = old
        .iter()
        .map(|s| deployment_util::revision_of(s))
        .max()
        .unwrap_or(0)
        .saturating_add(1);
    let new = new.map(|at| all[at].clone());
    if let Some(set) = &new {
        let mut wanted = set.clone();
        deployment_util::set_new_replica_set_annotations(&mut wanted, deployment, revision);
        if let Some(set_spec) = &mut wanted.spec {
            set_spec.min_ready_seconds = spec.min_ready_seconds;
        }
        plan.revision = Some(deployment_util::revision_of(&wanted));
        if wanted != *set {
            // Sizes follow in the sync after this update.
            plan.update.push((wanted, size(set)));
            plan.rollout = spec.paused != Some(true);
            return plan;
        }
    }
    let paused = spec.paused == Some(true);
    let active = all.iter().filter(|s| size(s) > 0);
    let scaled = active
        .filter_map(deployment_util::desired_replicas_annotation)
        .any(|desired| desired != replicas(deployment));
    if paused || scaled {
        scale(deployment, new.as_ref(), &old, &mut plan);
        if paused {
            cleanup_deployment(deployment, &old, &mut plan);
        }
        return plan;
    }
    plan.rollout = true;
    if deployment_util::recreates(deployment) {
        rollout_recreate(deployment, new, &old, old_pods, revision, &mut plan);
    } else {
        rollout_rolling(deployment, new, &old, revision, &mut plan);
    }
    plan
}

fn old_replica_sets(all: &[ReplicaSet], new: Option<usize>) -> Vec<&ReplicaSet> {
    let indexed = all.iter().enumerate();
    indexed
        .filter(|(at, _)| Some(*at) != new)
        .map(|(_, set)| set)
        .collect()
}

impl DeploymentPlan {
    /// Scales a ReplicaSet unless it has that size.
    pub(super) fn scale_replica_set(
        &mut self,
        deployment: &Deployment,
        set: &ReplicaSet,
        wanted: i64,
    ) -> bool {
        if size(set) == wanted {
            return false;
        }
        self.set_size_and_annotations(deployment, set, wanted);
        true
    }

    fn set_size_and_annotations(&mut self, deployment: &Deployment, set: &ReplicaSet, wanted: i64) {
        let mut next = set.clone();
        deployment_util::set_replicas(&mut next, deployment, wanted);
        if next != *set {
            self.update.push((next, size(set)));
        }
    }
}

/// Scales during or outside of a rollout: active ReplicaSets are scaled proportionally.
fn scale(
    deployment: &Deployment,
    new: Option<&ReplicaSet>,
    old: &[&ReplicaSet],
    plan: &mut DeploymentPlan,
) {
    let wanted = replicas(deployment);
    let all = || new.into_iter().chain(old.iter().copied());
    let active: Vec<&ReplicaSet> = all().filter(|s| size(s) > 0).collect();
    if active.len() <= 1 {
        let latest = active.first().copied().or(new).or_else(|| {
            let by_age = |s: &&ReplicaSet| (pods::created(*s), s.name_any());
            old.iter().copied().max_by_key(by_age)
        });
        if let Some(only) = latest {
            plan.set_size_and_annotations(deployment, only, wanted);
        }
        return;
    }
    if new.is_some_and(|set| is_saturated(deployment, set)) {
        for set in old.iter().filter(|s| size(s) > 0) {
            plan.scale_replica_set(deployment, set, 0);
        }
        // The new one has the desired size; only its annotation changes.
        new.into_iter()
            .for_each(|set| plan.set_size_and_annotations(deployment, set, wanted));
        return;
    }
    if !deployment_util::recreates(deployment) {
        scale_proportionally(deployment, active, plan);
    }
}

fn is_saturated(deployment: &Deployment, set: &ReplicaSet) -> bool {
    let wanted = replicas(deployment);
    size(set) == wanted
        && deployment_util::desired_replicas_annotation(set) == Some(wanted)
        && available(set) == wanted
}

fn scale_proportionally(
    deployment: &Deployment,
    mut active: Vec<&ReplicaSet>,
    plan: &mut DeploymentPlan,
) {
    let wanted = replicas(deployment);
    let (max_surge, _) = deployment_util::resolve_fenceposts(deployment);
    let allowed = if wanted > 0 { wanted + max_surge } else { 0 };
    let total: i64 = active.iter().map(|s| size(s)).sum();
    let change = allowed - total;
    // The largest first; of equals, the newest when scaling up and the oldest when scaling down.
    if change > 0 {
        active.sort_by_key(|s| Reverse((size(s), pods::created(*s), s.name_any())));
    } else {
        active.sort_by_key(|s| (Reverse(size(s)), pods::created(*s), s.name_any()));
    }
    let mut added = 0;
    let mut targets = Vec::with_capacity(active.len());
    for set in &active {
        let part = replica_set_proportion(deployment, set, allowed, change, added);
        added += part;
        targets.push(size(set) + part);
    }
    if let Some(first) = targets.first_mut() {
        *first = (*first + change - added).max(0);
    }
    for (set, target) in active.into_iter().zip(targets) {
        plan.set_size_and_annotations(deployment, set, target);
    }
}

/// The share of a scaling change for one ReplicaSet, in proportion to its size.
fn replica_set_proportion(
    deployment: &Deployment,
    set: &ReplicaSet,
    allowed: i64,
    change: i64,
    added: i64,
) -> i64 {
    let current = size(set);
    if current == 0 || change == added {
        return 0;
    }
    let proportion = if replicas(deployment) == 0 {
        -current
    } else {
        let status = deployment.status.as_ref().and_then(|s| s.replicas);
        let before = deployment_util::max_replicas_annotation(set)
            .or(status.map(i64::from))
            .unwrap_or(0)
            .max(1);
        let scaled = current.saturating_mul(allowed);
        let share = scaled.saturating_add(before / 2) / before;
        share.min(i64::from(i32::MAX)) - current
    };
    let remaining = change - added;
    if change > 0 {
        proportion.min(remaining)
    } else {
        proportion.max(remaining)
    }
}

/// Whether all pods are updated and available.
pub(super) fn deployment_complete(deployment: &Deployment) -> bool {
    let wanted = replicas(deployment);
    let status = deployment.status.clone().unwrap_or_default();
    let [replicas, updated, available] = [
        status.replicas,
        status.updated_replicas,
        status.available_replicas,
    ]
    .map(|count| count.unwrap_or(0));
    [updated, replicas, available].map(i64::from) == [wanted; 3]
        && status.observed_generation >= deployment.metadata.generation
}

/// Deletes the oldest ReplicaSets beyond `revisionHistoryLimit`.
pub(super) fn cleanup_deployment(
    deployment: &Deployment,
    old: &[&ReplicaSet],
    plan: &mut DeploymentPlan,
) {
    let limit = deployment
        .spec
        .as_ref()
        .and_then(|s| s.revision_history_limit);
    let limit = usize::try_from(limit.unwrap_or(10)).unwrap_or(0);
    let mut old: Vec<&ReplicaSet> = old
        .iter()
        .copied()
        .filter(|s| s.metadata.deletion_timestamp.is_none())
        .collect();
    old.sort_by_key(|s| (deployment_util::revision_of(s), s.name_any()));
    let surplus = old.len().saturating_sub(limit);
    let is_scaled_down = |set: &&ReplicaSet| {
        let status = set.status.clone().unwrap_or_default();
        status.replicas == 0
            && size(set) == 0
            && status.observed_generation >= set.metadata.generation
    };
    let deleted = old.into_iter().take(surplus).filter(is_scaled_down);
    plan.delete.extend(deleted.map(|s| s.name_any()));
}
