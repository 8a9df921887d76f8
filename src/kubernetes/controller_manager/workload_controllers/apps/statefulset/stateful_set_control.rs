//! The sync of a StatefulSet: one pod after the other, in the order of their ordinals. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::identity::{ordinal, revision_of};
use kueue_lab_controller_runtime::BURST_REPLICAS;
use kueue_lab_controller_utils::pods;

/// One change of a pod.
#[derive(Clone, Debug)]
pub(super) enum PodAction {
    /// Create the pod with that ordinal, of the current or the update revision.
    Create {
        /// Its ordinal.
        ordinal: i32,
        /// Whether it is of the current revision.
        current: bool,
    },
    /// Delete the pod. The text is the message of a warning Event.
    Delete(Arc<Pod>, Option<String>),
}

/// The changes of one sync.
#[derive(Debug, Default)]
pub(super) struct StatefulSetPlan {
    pub(super) actions: Vec<PodAction>,
    /// Whether more pods are missing or surplus than are created and deleted.
    pub(super) is_partial: bool,
}

/// The names of the current and the update revision.
#[derive(Clone, Copy)]
pub(super) struct Revisions<'a> {
    pub(super) current: &'a str,
    pub(super) update: &'a str,
}

/// The plan for the pods that the set controls; it creates at most `burst_replicas` pods.
pub(super) fn update_stateful_set(
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    owned: &[Arc<Pod>],
    revisions: Revisions<'_>,
    burst_replicas: usize,
    now: Timestamp,
) -> StatefulSetPlan {
    let mut decision = StatefulSetPlan::default();
    if set.metadata.deletion_timestamp.is_none() {
        decision.plan_pods(set, spec, owned, revisions, burst_replicas, now);
    }
    decision
}

/// The ordinals of the set.
fn range(spec: &StatefulSetSpec) -> std::ops::Range<i32> {
    let start = spec.ordinals.as_ref().and_then(|o| o.start).unwrap_or(0);
    start..start.saturating_add(spec.replicas.unwrap_or(1).max(0))
}

impl StatefulSetPlan {
    fn plan_pods(
        &mut self,
        set: &StatefulSet,
        spec: &StatefulSetSpec,
        owned: &[Arc<Pod>],
        revisions: Revisions<'_>,
        burst_replicas: usize,
        now: Timestamp,
    ) {
        let ordered = spec.pod_management_policy.as_deref() != Some("Parallel");
        let min_ready = spec.min_ready_seconds.unwrap_or(0);
        let wanted = range(spec);
        let name = set.name_any();
        let number = |pod: &Arc<Pod>| ordinal(&name, &pod.name_any()).map(|n| (n, pod.clone()));
        let by_number: BTreeMap<i32, Arc<Pod>> = owned.iter().filter_map(number).collect();
        let available =
            |pod: &Pod| is_running_and_ready(pod) && pods::is_available(pod, min_ready, now);

        // Ends at the burst: it visits no more ordinals than there are pods and creations.
        let mut creations = 0;
        for ordinal in wanted.clone() {
            match by_number.get(&ordinal) {
                None if creations == burst_replicas => {
                    self.is_partial = true;
                    break;
                }
                None => {
                    creations += 1;
                    let current = uses_current_revision(set, spec, ordinal);
                    self.actions.push(PodAction::Create { ordinal, current });
                    if ordered {
                        return;
                    }
                }
                Some(pod) if pods::is_terminal(pod) => {
                    if !pods::is_deleting(pod) {
                        let namespace = pod.namespace().unwrap_or_default();
                        let why = format!(
                            "StatefulSet {namespace}/{name} is recreating failed Pod {}",
                            pod.name_any()
                        );
                        self.actions.push(PodAction::Delete(pod.clone(), Some(why)));
                    }
                    if ordered {
                        return;
                    }
                }
                Some(pod) if ordered && (pods::is_deleting(pod) || !available(pod)) => return,
                Some(_) => {}
            }
        }
        let mut surplus: Vec<&Arc<Pod>> = by_number
            .iter()
            .filter(|(ordinal, _)| !wanted.contains(ordinal))
            .map(|(_, pod)| pod)
            .collect();
        let unhealthy = surplus
            .iter()
            .find(|p| !is_healthy(p))
            .map(|p| p.name_any());
        let mut deletions = 0;
        while let Some(pod) = surplus.pop() {
            if deletions == BURST_REPLICAS {
                self.is_partial = true;
                return;
            }
            if pods::is_deleting(pod) {
                if ordered {
                    return;
                }
                continue;
            }
            if ordered && !available(pod) && unhealthy.as_ref() != Some(&pod.name_any()) {
                return;
            }
            self.actions.push(PodAction::Delete(pod.clone(), None));
            deletions += 1;
            if ordered {
                return;
            }
        }
        if self.actions.is_empty() && !self.is_partial {
            self.plan_rolling_update(spec, &wanted, &by_number, revisions, &available);
        }
    }

    /// Replaces pods of old revisions, from the last ordinal down to the partition.
    fn plan_rolling_update(
        &mut self,
        spec: &StatefulSetSpec,
        wanted: &std::ops::Range<i32>,
        by_number: &BTreeMap<i32, Arc<Pod>>,
        revisions: Revisions<'_>,
        available: &dyn Fn(&Pod) -> bool,
    ) {
        let strategy = spec.update_strategy.as_ref();
        if strategy.and_then(|s| s.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let first = wanted.start.saturating_add(partition(spec).unwrap_or(0));
        for ordinal in wanted.clone().rev().take_while(|o| *o >= first) {
            let Some(pod) = by_number.get(&ordinal) else {
                return;
            };
            if revision_of(pod) != revisions.update && !pods::is_deleting(pod) {
                self.actions.push(PodAction::Delete(pod.clone(), None));
                return;
            }
            if !available(pod) {
                return;
            }
        }
    }
}

fn partition(spec: &StatefulSetSpec) -> Option<i32> {
    let strategy = spec.update_strategy.as_ref()?;
    strategy
        .rolling_update
        .as_ref()
        .map(|r| r.partition.unwrap_or(0))
}

/// Whether a new pod with that ordinal is of the current revision.
fn uses_current_revision(set: &StatefulSet, spec: &StatefulSetSpec, ordinal: i32) -> bool {
    let start = range(spec).start;
    match partition(spec) {
        Some(partition) => ordinal < start.saturating_add(partition),
        None => {
            let status = set.status.as_ref();
            let current = status.and_then(|s| s.current_replicas).unwrap_or(0);
            ordinal < start.saturating_add(current)
        }
    }
}

fn is_running_and_ready(pod: &Pod) -> bool {
    pods::phase(pod) == "Running" && pods::is_ready(pod)
}

fn is_healthy(pod: &Pod) -> bool {
    is_running_and_ready(pod) && !pods::is_deleting(pod)
}

/// The status of the set with the pods that it controls.
pub(super) fn status(
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    owned: &[Arc<Pod>],
    revisions: Revisions<'_>,
    now: Timestamp,
) -> StatefulSetStatus {
    let before = set.status.clone().unwrap_or_default();
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let count = |which: &dyn Fn(&Pod) -> bool| owned.iter().filter(|pod| which(pod)).count() as i32;
    let of = |revision: &str| count(&|p| !pods::is_deleting(p) && revision_of(p) == revision);
    let ready = count(&is_running_and_ready);
    let available = count(&|p| is_running_and_ready(p) && pods::is_available(p, min_ready, now));
    let (replicas, updated) = (owned.len() as i32, of(revisions.update));
    let mut status = StatefulSetStatus {
        replicas,
        ready_replicas: Some(ready).filter(|n| *n > 0),
        available_replicas: Some(available),
        current_replicas: Some(of(revisions.current)).filter(|n| *n > 0),
        updated_replicas: Some(updated).filter(|n| *n > 0),
        current_revision: Some(revisions.current.to_string()),
        update_revision: Some(revisions.update.to_string()),
        observed_generation: set.metadata.generation,
        collision_count: Some(before.collision_count.unwrap_or(0)),
        conditions: before.conditions,
    };
    let strategy = spec
        .update_strategy
        .as_ref()
        .and_then(|s| s.type_.as_deref());
    if strategy != Some("OnDelete") && updated == replicas && ready == replicas {
        // The update is complete: the update revision becomes the current one.
        status.current_replicas = status.updated_replicas;
        status.current_revision = status.update_revision.clone();
    }
    status
}
