//! Defaulting shared by the webhooks of jobs: LocalQueue, WorkloadPriorityClass and suspension.

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kueue_lab_controller_runtime::Api;

use super::Denial;
use crate::job_annotations;
use crate::jobs::ancestor_job::AncestorJob;
use crate::jobs::generic_job::JobKind;
use crate::jobs::integration_context::IntegrationContext;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_component_helpers::label_selector::Labels;
use kueue_lab_controller_runtime::ObjectKey;

/// Labels of a namespace.
async fn namespace_labels(env: &IntegrationContext, name: &str) -> Result<Labels, Denial> {
    let key = ObjectKey {
        namespace: String::new(),
        name: name.to_owned(),
    };
    if let Some(found) = env.shared.informers.namespaces.get(&key) {
        return Ok(found.metadata.labels.clone().unwrap_or_default());
    }
    let api = Api::<Namespace>::all(env.shared.ctx.client.clone());
    let found = api.get(name).await;
    let found = found.map_err(|e| Denial::Other(format!("failed to get namespace: {e}")))?;
    Ok(found.metadata.labels.unwrap_or_default())
}

/// Whether jobs of a namespace are managed.
///
/// # Errors
/// The namespace cannot be read.
pub(super) async fn namespace_is_managed(
    env: &IntegrationContext,
    namespace: &str,
) -> Result<bool, Denial> {
    Ok(env.namespace_labels_match(&namespace_labels(env, namespace).await?))
}

/// Whether a namespace has the default LocalQueue.
pub(super) fn default_local_queue_exists(env: &IntegrationContext, namespace: &str) -> bool {
    let name = c::DEFAULT_LOCAL_QUEUE_NAME.to_owned();
    let key = ObjectKey {
        namespace: namespace.to_owned(),
        name,
    };
    env.shared.informers.local_queues.get(&key).is_some()
}

/// Sets a label.
pub(super) fn set_label(meta: &mut ObjectMeta, key: &str, value: &str) {
    meta.labels
        .get_or_insert_default()
        .insert(key.to_owned(), value.to_owned());
}

/// Sets an annotation.
pub(super) fn set_annotation(meta: &mut ObjectMeta, key: &str, value: &str) {
    let annotations = meta.annotations.get_or_insert_default();
    annotations.insert(key.to_owned(), value.to_owned());
}

/// Sets the default LocalQueue on a job without a queue name.
///
/// # Errors
/// The namespace cannot be read.
pub(super) async fn apply_default_local_queue(
    env: &IntegrationContext,
    namespace: &str,
    meta: &mut ObjectMeta,
) -> Result<(), Denial> {
    let applies = default_local_queue_exists(env, namespace)
        && job_annotations::queue_name(meta).is_empty()
        && !env.integrations.is_owner_managed_by_kueue_for_object(meta);
    if applies && namespace_is_managed(env, namespace).await? {
        set_label(meta, c::QUEUE_LABEL, c::DEFAULT_LOCAL_QUEUE_NAME);
    }
    Ok(())
}

/// Sets the default WorkloadPriorityClass on a job without one, if it exists.
pub(super) fn apply_default_workload_priority_class(
    env: &IntegrationContext,
    meta: &mut ObjectMeta,
) {
    let name = c::DEFAULT_WORKLOAD_PRIORITY_CLASS_NAME;
    let key = ObjectKey {
        namespace: String::new(),
        name: name.to_owned(),
    };
    let applies = env.enabled(Feature::WorkloadPriorityClassDefaulting)
        && job_annotations::workload_priority_class_name(meta).is_empty()
        && !env.integrations.is_owner_managed_by_kueue_for_object(meta);
    if applies
        && env
            .shared
            .informers
            .workload_priority_classes
            .get(&key)
            .is_some()
    {
        set_label(meta, c::PRIORITY_CLASS_LABEL, name);
    }
}

/// The managed ancestor of an object being created.
///
/// # Errors
/// An owner cannot be read.
pub(super) async fn find_ancestor_job(
    env: &IntegrationContext,
    namespace: &str,
    meta: &ObjectMeta,
) -> Result<Option<AncestorJob>, Denial> {
    let mut namespaced = meta.clone();
    namespaced
        .namespace
        .get_or_insert_with(|| namespace.to_owned());
    let found = env
        .ancestor_finder
        .find_ancestor_job_managed_by_kueue(
            &env.integrations,
            &namespaced,
            env.manage_jobs_without_queue_name(),
        )
        .await;
    found.map_err(|error| Denial::Other(error.to_string()))
}

/// Whether a job is created suspended.
///
/// # Errors
/// An owner or the namespace cannot be read.
pub(crate) async fn workload_should_be_suspended(
    env: &IntegrationContext,
    namespace: &str,
    meta: &ObjectMeta,
) -> Result<bool, Denial> {
    let terminating = meta.deletion_timestamp.is_some();
    if terminating && env.enabled(Feature::SkipAncestorCheckForDeletedWorkloads) {
        return Ok(false);
    }
    if find_ancestor_job(env, namespace, meta).await?.is_some() {
        return Ok(false);
    }
    if !job_annotations::queue_name(meta).is_empty() {
        return Ok(true);
    }
    Ok(env.manage_jobs_without_queue_name() && namespace_is_managed(env, namespace).await?)
}

/// Leaves a job in a LocalQueue with a MultiKueue check to MultiKueue, unless another controller
/// than the kind's own is set.
pub(super) fn apply_default_for_managed_by<K: JobKind>(
    env: &IntegrationContext,
    namespace: &str,
    job: &mut K::Object,
) {
    if !env.enabled(Feature::MultiKueue) || !has_multikueue_check(env, namespace, job.meta()) {
        return;
    }
    if let Some((managed_by, own)) = K::managed_by(job)
        && managed_by
            .controller()
            .is_none_or(|controller| controller == own)
    {
        managed_by.set(c::MULTI_KUEUE_CONTROLLER);
    }
}

/// Whether the ClusterQueue of a job has a MultiKueue check.
fn has_multikueue_check(env: &IntegrationContext, namespace: &str, meta: &ObjectMeta) -> bool {
    let Some(queue) = meta
        .labels
        .as_ref()
        .and_then(|labels| labels.get(c::QUEUE_LABEL))
    else {
        return false;
    };
    let informers = &env.shared.informers;
    let local_queue = informers
        .local_queues
        .get(&ObjectKey::new(namespace, queue));
    let cluster_queue = local_queue.and_then(|queue| {
        informers
            .cluster_queues
            .get(&ObjectKey::cluster(&queue.spec.cluster_queue))
    });
    let strategy = cluster_queue
        .as_ref()
        .and_then(|queue| queue.spec.admission_checks_strategy.as_ref());
    let mut rules = strategy
        .into_iter()
        .flat_map(|strategy| &strategy.admission_checks);
    rules.any(|rule| {
        let check = informers
            .admission_checks
            .get(&ObjectKey::cluster(&rule.name));
        check.is_some_and(|check| check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER)
    })
}
