//! The reconciler of StatefulSet pods: makes each pod a member of the pod group of its StatefulSet.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;

use super::error::{JobError, ignore_not_found};
use super::generic_reconciler::object_key;
use super::integration_context::IntegrationContext;
use super::stateful_set::{FRAMEWORK, GVK, POD_INDEX, find_workload, patch_pod, replicas};
use crate::job_annotations;
use crate::object_meta;
use crate::pod_util::is_terminated;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants::{self as c};
use kueue_lab_controller_runtime::{
    Change, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};

/// Starts the reconciler of pods.
pub(super) fn start(env: &IntegrationContext, sets: &Informer<StatefulSet>) {
    let pods: WorkQueue<ObjectKey> = WorkQueue::new(&env.shared.ctx);
    let seen = pods.clone();
    env.shared.informers.pods.add_event_handler(move |change| {
        if !matches!(change, Change::Deleted(_)) && owner_stateful_set(change.object()).is_some() {
            seen.add(object_key(&change.object().metadata));
        }
    });
    let (env_, sets_) = (env.clone(), sets.clone());
    let workers = env.shared.settings.group_kind_concurrency("Pod", 5);
    pods.run(&env.shared.ctx, "statefulset_pod", workers, move |key| {
        let (env, sets) = (env_.clone(), sets_.clone());
        async move {
            // Before the first list completes, a StatefulSet missing from the cache would be
            // treated as deleted.
            sets.wait_for_cache_sync().await;
            let joined = match env.shared.informers.pods.get(&key) {
                Some(pod) => set_pod_defaults(&env, &sets, &pod).await,
                None => Ok(()),
            };
            ignore_not_found(joined).map(|()| ReconcileResult::Done)
        }
    });
}

/// The StatefulSet by which a pod is suspended.
pub(super) fn owner_stateful_set(pod: &Pod) -> Option<ObjectKey> {
    let parent = object_meta::annotation(&pod.metadata, c::SUSPENDED_BY_PARENT_ANNOTATION);
    let owner = controller_of(&pod.metadata).filter(|owner| GVK.matches_owner(owner))?;
    (parent == Some(FRAMEWORK)).then(|| ObjectKey {
        namespace: object_meta::namespace(&pod.metadata).to_owned(),
        name: owner.name.clone(),
    })
}

/// Sets the pod group labels and annotations of a pod.
async fn set_pod_defaults(
    env: &IntegrationContext,
    sets: &Informer<StatefulSet>,
    pod: &Pod,
) -> Result<(), JobError> {
    let Some(set) = owner_stateful_set(pod).and_then(|key| sets.get(&key)) else {
        return Ok(());
    };
    if is_terminated(pod) || pod.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let queue = job_annotations::queue_name(&set.metadata);
    let (group, _) = find_workload(env, &set);
    let mut changed = pod.clone();
    let labels = changed.metadata.labels.get_or_insert_default();
    let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    if !queue.is_empty() {
        label(c::QUEUE_LABEL, queue);
    }
    if job_annotations::pod_group_name(&pod.metadata, &env.gates) == Some(group.as_str()) {
        return patch_pod(env, pod, &changed).await;
    }
    if queue.is_empty() && !env.manage_jobs_without_queue_name() {
        return Ok(());
    }
    label(c::MANAGED_LABEL, c::MANAGED_LABEL_VALUE);
    let class = job_annotations::workload_priority_class_name(&set.metadata);
    if !class.is_empty() {
        label(c::PRIORITY_CLASS_LABEL, class);
    }
    let by_annotation = env.enabled(Feature::WorkloadIdentifierAnnotations);
    if !by_annotation {
        label(c::PREBUILT_WORKLOAD_LABEL, &group);
        label(c::POD_GROUP_NAME_LABEL, &group);
    }
    let annotations = changed.metadata.annotations.get_or_insert_default();
    let mut annotate =
        |key: &str, value: &str| annotations.insert(key.to_owned(), value.to_owned());
    if by_annotation {
        annotate(c::PREBUILT_WORKLOAD_ANNOTATION, &group);
        annotate(c::POD_GROUP_NAME_ANNOTATION, &group);
    }
    annotate(
        c::POD_GROUP_TOTAL_COUNT_ANNOTATION,
        &replicas(&set).to_string(),
    );
    annotate(
        c::POD_GROUP_FAST_ADMISSION_ANNOTATION,
        c::POD_GROUP_FAST_ADMISSION_VALUE,
    );
    annotate(c::POD_GROUP_SERVING_ANNOTATION, c::POD_GROUP_SERVING_VALUE);
    annotate(c::POD_GROUP_POD_INDEX_LABEL_ANNOTATION, POD_INDEX);
    annotate(c::ROLE_HASH_ANNOTATION, c::DEFAULT_POD_SET_NAME);
    patch_pod(env, pod, &changed).await
}
