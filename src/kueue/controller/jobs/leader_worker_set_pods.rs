//! The pods of LeaderWorkerSets: each joins the pod group of its group, and pods that need no
//! admission are ungated.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::{JobError, ignore_not_found};
use super::integration_context::IntegrationContext;
use super::leader_worker_set::{
    FRAMEWORK, LEADER_POD_SET_NAME, WORKER_POD_SET_NAME, group_workload_name,
};
use super::leader_worker_set_spec::LeaderWorkerSet;
use super::stateful_set::{REVISION, patch_pod};
use crate::constants::{LEADER_WORKER_SET_NAME_LABEL, UPDATES_BATCH_PERIOD};
use crate::informers::{BY_LEADER_WORKER_SET, leader_worker_set_key};
use crate::job_annotations;
use crate::object_meta;
use crate::pod_util::{has_gate, is_terminated, ungate};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_controller_runtime::{Change, Informer, ObjectKey, WorkQueue, controller_of};

/// The label with the index of the group of a pod, set by the operator.
const GROUP_INDEX_LABEL: &str = "leaderworkerset.sigs.k8s.io/group-index";
/// The annotation of a worker with the name of its leader.
const LEADER_POD_NAME_ANNOTATION: &str = "leaderworkerset.sigs.k8s.io/leader-name";

/// Enqueues LeaderWorkerSets on changes of their pods and StatefulSets.
pub(super) fn add_event_handlers(
    env: &IntegrationContext,
    stateful_sets: &Informer<StatefulSet>,
    queue: &WorkQueue<ObjectKey>,
) {
    let pods = queue.clone();
    env.shared.informers.pods.add_event_handler(move |change| {
        let pod = change.object();
        let parent = object_meta::annotation(&pod.metadata, c::SUSPENDED_BY_PARENT_ANNOTATION);
        if !matches!(change, Change::Deleted(_))
            && parent == Some(FRAMEWORK)
            && let Some(set) = leader_worker_set(&pod.metadata)
        {
            pods.add_after(set, UPDATES_BATCH_PERIOD);
        }
    });
    let revised = queue.clone();
    stateful_sets.add_event_handler(move |change| {
        let set = change.object();
        let template = set.spec.as_ref().and_then(|s| s.template.metadata.as_ref());
        let parent = template
            .and_then(|meta| object_meta::annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION));
        let has_revision = set
            .status
            .as_ref()
            .is_some_and(|s| s.current_revision.is_some());
        if matches!(change, Change::Updated { .. })
            && has_revision
            && parent == Some(FRAMEWORK)
            && let Some(set) = leader_worker_set(&set.metadata)
        {
            revised.add_after(set, UPDATES_BATCH_PERIOD);
        }
    });
}

/// The LeaderWorkerSet of an object, by its label.
fn leader_worker_set(meta: &ObjectMeta) -> Option<ObjectKey> {
    let name = object_meta::label(meta, LEADER_WORKER_SET_NAME_LABEL)?.to_owned();
    Some(ObjectKey {
        namespace: object_meta::namespace(meta).to_owned(),
        name,
    })
}

/// Ungates the pods that need no admission; others join the pod group of their group.
///
/// # Errors
/// A request fails.
pub(super) async fn reconcile_pods(
    env: &IntegrationContext,
    key: &ObjectKey,
    lws: Option<&LeaderWorkerSet>,
    stateful_sets: &Informer<StatefulSet>,
) -> Result<(), JobError> {
    let index = leader_worker_set_key(&key.namespace, &key.name);
    let sets = stateful_sets.by_index(BY_LEADER_WORKER_SET, &index);
    let sets: BTreeMap<&str, &Arc<StatefulSet>> = sets
        .iter()
        .map(|set| (object_meta::name(&set.metadata), set))
        .collect();
    let pods = env
        .shared
        .informers
        .pods
        .by_index(BY_LEADER_WORKER_SET, &index);
    let all = pods.iter().map(async |pod| {
        let owner = controller_of(&pod.metadata);
        let set = owner.and_then(|owner| sets.get(owner.name.as_str()));
        let changed = match lws {
            Some(lws) if !should_ungate_pod(set.map(|set| set.as_ref()), pod) => {
                let ended = is_terminated(pod) || pod.metadata.deletion_timestamp.is_some();
                if ended {
                    None
                } else {
                    set_default(env, lws, pod)
                }
            }
            _ => Some(ungated(pod)),
        };
        match changed {
            Some(changed) if changed != **pod => {
                ignore_not_found(patch_pod(env, pod, &changed).await)
            }
            _ => Ok(()),
        }
    });
    join_all(all).await.into_iter().collect()
}

/// Whether a pod needs no admission: its StatefulSet is gone, or is about to replace it by a pod of
/// another revision.
fn should_ungate_pod(set: Option<&StatefulSet>, pod: &Pod) -> bool {
    let Some(set) = set else { return true };
    let status = set.status.clone().unwrap_or_default();
    let current = status.current_revision.unwrap_or_default();
    let revision = object_meta::label(&pod.metadata, REVISION).unwrap_or_default();
    current != status.update_revision.unwrap_or_default() && current == revision
}

fn ungated(pod: &Pod) -> Pod {
    let mut changed = pod.clone();
    if let Some(spec) = &mut changed.spec {
        ungate(spec, c::ADMISSION_SCHEDULING_GATE);
        ungate(spec, c::TOPOLOGY_SCHEDULING_GATE);
    }
    changed
}

/// The pod with the labels and annotations of its pod group; None while its group is unknown.
fn set_default(env: &IntegrationContext, lws: &LeaderWorkerSet, pod: &Pod) -> Option<Pod> {
    let mut changed = pod.clone();
    let labels = changed.metadata.labels.get_or_insert_default();
    let queue = job_annotations::queue_name(&lws.metadata);
    // The queue of other pods is immutable.
    let sets_queue = !queue.is_empty() && has_gate(pod, c::ADMISSION_SCHEDULING_GATE);
    if sets_queue {
        labels.insert(c::QUEUE_LABEL.to_owned(), queue.to_owned());
    }
    if labels.contains_key(c::MANAGED_LABEL) {
        return Some(changed);
    }
    let index = object_meta::label(&pod.metadata, GROUP_INDEX_LABEL)?;
    let group = group_workload_name(env, lws, index);
    let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    label(c::MANAGED_LABEL, c::MANAGED_LABEL_VALUE);
    let by_annotation = env.enabled(Feature::WorkloadIdentifierAnnotations);
    let is_long = group.len() > job_annotations::LABEL_VALUE_MAX;
    if !by_annotation {
        label(c::POD_GROUP_NAME_LABEL, &group);
        if !is_long {
            label(c::PREBUILT_WORKLOAD_LABEL, &group);
        }
    }
    let annotations = changed.metadata.annotations.get_or_insert_default();
    let is_worker = annotations.contains_key(LEADER_POD_NAME_ANNOTATION);
    let mut annotate =
        |key: &str, value: &str| annotations.insert(key.to_owned(), value.to_owned());
    if by_annotation {
        annotate(c::POD_GROUP_NAME_ANNOTATION, &group);
    }
    if by_annotation || is_long {
        annotate(c::PREBUILT_WORKLOAD_ANNOTATION, &group);
    }
    annotate(c::POD_GROUP_TOTAL_COUNT_ANNOTATION, &lws.size().to_string());
    let has_leader = lws.spec.leader_worker_template.leader_template.is_some();
    let role = match (has_leader, is_worker) {
        (false, _) => c::DEFAULT_POD_SET_NAME,
        (true, false) => LEADER_POD_SET_NAME,
        (true, true) => WORKER_POD_SET_NAME,
    };
    annotate(c::ROLE_HASH_ANNOTATION, role);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::StatefulSetStatus;

    #[test]
    fn pods_of_an_old_revision_need_no_admission() {
        let mut pod = Pod::default();
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.insert(REVISION.to_owned(), "one".to_owned());
        let set = |current: &str, update: &str| StatefulSet {
            status: Some(StatefulSetStatus {
                current_revision: Some(current.to_owned()),
                update_revision: Some(update.to_owned()),
                ..StatefulSetStatus::default()
            }),
            ..StatefulSet::default()
        };
        assert!(should_ungate_pod(None, &pod));
        assert!(should_ungate_pod(Some(&set("one", "two")), &pod));
        assert!(!should_ungate_pod(Some(&set("one", "one")), &pod));
        assert!(!should_ungate_pod(Some(&set("two", "three")), &pod));
    }
}
