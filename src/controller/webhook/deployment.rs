//! Deployments: their pods are managed one by one; the template tells the pods so.

use k8s_openapi::api::apps::v1::Deployment;

use super::Refusal;
use super::generic::{self, annotate, immutable, label, set_label};
use crate::jobs::env::Env;
use crate::jobs::frameworks::Gvk;
use crate::jobs::marks;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::FieldErrors;

const FRAMEWORK: &str = "deployment";
const GVK: Gvk = Gvk::new("apps", "v1", "Deployment");

/// Tells the pods of a managed Deployment their queue.
pub(super) async fn default(
    env: &Env,
    namespace: &str,
    deployment: &mut Deployment,
) -> Result<(), Refusal> {
    generic::default_queue(env, namespace, &mut deployment.metadata).await?;
    generic::default_priority_class(env, &mut deployment.metadata);
    if !generic::has_to_wait(env, namespace, &deployment.metadata).await? {
        return Ok(());
    }
    let template = &mut deployment.spec.get_or_insert_default().template;
    let meta = template.metadata.get_or_insert_default();
    annotate(meta, c::SUSPENDED_BY_PARENT_ANNOTATION, FRAMEWORK);
    set_label(meta, c::MANAGED_LABEL, c::MANAGED_LABEL_VALUE);
    let queue = marks::queue_name(&deployment.metadata);
    if !queue.is_empty() {
        set_label(meta, c::QUEUE_LABEL, queue);
    }
    let class = marks::priority_class(&deployment.metadata);
    if !class.is_empty() {
        set_label(meta, c::PRIORITY_CLASS_LABEL, class);
    }
    Ok(())
}

/// Looks at a Deployment, and at what it was.
pub(super) fn validate(env: &Env, new: &Deployment, old: Option<&Deployment>) -> FieldErrors {
    let meta = &new.metadata;
    let mut errors = generic::create_of_serving(env, meta, old.map(|old| &old.metadata), &GVK);
    if let Some(old) = old {
        let ready = old
            .status
            .as_ref()
            .and_then(|s| s.ready_replicas)
            .unwrap_or(0);
        errors.extend(queue_of_serving(ready == 0, meta, &old.metadata));
    }
    errors
}

/// The queue may not change while pods run, and not be taken away at all.
pub(super) fn queue_of_serving(
    suspended: bool,
    new: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    old: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
) -> FieldErrors {
    let (to, from) = (marks::queue_name(new), marks::queue_name(old));
    let mut errors = Vec::new();
    if !suspended || to.is_empty() {
        errors.extend(immutable(to, from, &label(c::QUEUE_LABEL)));
    }
    errors.extend(generic::priority_change(suspended, new, old));
    errors
}
