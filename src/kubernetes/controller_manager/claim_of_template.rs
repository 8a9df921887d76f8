//! The ResourceClaim of a pod that is made of a ResourceClaimTemplate.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodResourceClaim};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::ObjectMeta;

/// The annotation of generated claims with the name of the entry in the pod's spec.
pub(super) const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";
/// The maximum length of a generated name without its random suffix.
const MAX_BASE_LENGTH: usize = 57;

/// The claim for an entry of a pod, with the pod as its controller.
pub(super) fn claim_of_template(
    pod: &Pod,
    pod_claim: &PodResourceClaim,
    template: &ResourceClaimTemplate,
) -> ResourceClaim {
    let metadata = template.spec.metadata.as_ref();
    let labels = metadata.and_then(|m| m.labels.clone());
    let annotations = metadata.and_then(|m| m.annotations.clone());
    let mut annotations: BTreeMap<String, String> = annotations.unwrap_or_default();
    annotations.insert(POD_CLAIM_NAME.to_owned(), pod_claim.name.clone());
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    ResourceClaim {
        metadata: ObjectMeta {
            generate_name: Some(generate_name(&pod.name_any(), &pod_claim.name)),
            namespace: pod.namespace(),
            labels,
            annotations: Some(annotations),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec.spec.clone(),
        status: None,
    }
}

/// `POD-CLAIM-`, with both names shortened in proportion if they are too long.
fn generate_name(pod: &str, claim: &str) -> String {
    let name = format!("{pod}-{claim}-");
    if name.len() <= MAX_BASE_LENGTH {
        return name;
    }
    let part = |text: &str, whole: usize| -> String {
        text.chars()
            .take(text.len() * MAX_BASE_LENGTH / whole)
            .collect()
    };
    let pod_part = part(pod, name.len());
    format!("{pod_part}-{}", part(claim, name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_in_proportion() {
        assert_eq!(generate_name("pod", "gpu"), "pod-gpu-");
        let name = generate_name(&"p".repeat(60), &"c".repeat(30));
        assert_eq!(name, format!("{}-{}", "p".repeat(37), "c".repeat(18)));
    }
}
