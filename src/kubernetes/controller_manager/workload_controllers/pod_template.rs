//! Pods from a controller's template. Must not depend on any controller.

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use kueue_lab_controller_runtime::controller_reference;

/// The maximum length of `generateName` that the API server keeps.
const LONGEST_PREFIX: usize = 58;

/// A pod of the template, owned by `owner`, with a generated name.
pub(crate) fn pod_from_template<K: Resource<DynamicType = ()>>(
    template: &PodTemplateSpec,
    owner: &K,
) -> Pod {
    let meta = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            namespace: owner.namespace(),
            generate_name: Some(format!("{}-", owner.name_any())),
            labels: meta.labels,
            annotations: meta.annotations,
            finalizers: meta.finalizers,
            owner_references: Some(vec![controller_reference(owner)]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// `<name><suffix>`, with the name truncated so that a generated name fits.
pub(crate) fn name_prefix(name: &str, suffix: &str) -> String {
    let max_len = LONGEST_PREFIX.saturating_sub(suffix.len());
    let end = name.len().min(max_len);
    format!("{}{suffix}", name.get(..end).unwrap_or(name))
}
