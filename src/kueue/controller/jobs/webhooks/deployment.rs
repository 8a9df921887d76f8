//! Deployments: their pods are managed as plain pods; the webhook sets the queue name in the pod
//! template.

use k8s_openapi::api::apps::v1::Deployment;

use super::Denial;
use super::defaults::{self, set_annotation, set_label};
use super::validation::{self, label_path, validate_immutable};
use crate::job_annotations;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::integration_manager::Gvk;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::FieldErrors;

pub(crate) const FRAMEWORK: &str = "deployment";
pub(crate) const GVK: Gvk = Gvk::new("apps", "v1", "Deployment");

/// Copies the queue name of a managed Deployment to its pod template.
pub(crate) async fn default(
    env: &IntegrationContext,
    namespace: &str,
    deployment: &mut Deployment,
) -> Result<(), Denial> {
    defaults::apply_default_local_queue(env, namespace, &mut deployment.metadata).await?;
    defaults::apply_default_workload_priority_class(env, &mut deployment.metadata);
    if !defaults::workload_should_be_suspended(env, namespace, &deployment.metadata).await? {
        return Ok(());
    }
    let template = &mut deployment.spec.get_or_insert_default().template;
    let meta = template.metadata.get_or_insert_default();
    set_annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION, FRAMEWORK);
    set_label(meta, c::MANAGED_LABEL, c::MANAGED_LABEL_VALUE);
    let queue = job_annotations::queue_name(&deployment.metadata);
    if !queue.is_empty() {
        set_label(meta, c::QUEUE_LABEL, queue);
    }
    let class = job_annotations::workload_priority_class_name(&deployment.metadata);
    if !class.is_empty() {
        set_label(meta, c::PRIORITY_CLASS_LABEL, class);
    }
    Ok(())
}

/// Validates a new or updated Deployment.
pub(crate) fn validate(
    env: &IntegrationContext,
    new: &Deployment,
    old: Option<&Deployment>,
) -> FieldErrors {
    let meta = &new.metadata;
    let mut errors =
        validation::validate_serving_job(env, meta, old.map(|old| &old.metadata), &GVK);
    if let Some(old) = old {
        let ready = old.status.as_ref().and_then(|s| s.ready_replicas);
        errors.extend(validate_queue_name_update(ready, meta, &old.metadata));
    }
    errors
}

/// The queue name is immutable while pods are ready, and cannot be removed.
pub(super) fn validate_queue_name_update(
    ready_replicas: Option<i32>,
    new: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    old: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
) -> FieldErrors {
    let suspended = ready_replicas.unwrap_or(0) == 0;
    let (to, from) = (
        job_annotations::queue_name(new),
        job_annotations::queue_name(old),
    );
    let mut errors = Vec::new();
    if !suspended || to.is_empty() {
        errors.extend(validate_immutable(to, from, &label_path(c::QUEUE_LABEL)));
    }
    errors
        .extend(validation::validate_update_for_workload_priority_class_name(suspended, new, old));
    errors
}
