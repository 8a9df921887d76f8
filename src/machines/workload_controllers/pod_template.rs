//! Pods from a controller's template. Must not depend on any controller.

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};

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

/// The controller reference to `owner`.
pub(crate) fn controller_reference<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).to_string(),
        kind: K::kind(&()).to_string(),
        name: owner.name_any(),
        uid: owner.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// `<name><suffix>`, with the name truncated so that a generated name fits.
pub(crate) fn name_prefix(name: &str, suffix: &str) -> String {
    let max_len = LONGEST_PREFIX.saturating_sub(suffix.len());
    let end = name.len().min(max_len);
    format!("{}{suffix}", name.get(..end).unwrap_or(name))
}
