//! The identity of a StatefulSet's pod: name, host name, labels and volumes. Pure.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume,
};
use kube::ResourceExt;

use crate::workload_controllers::pod_template;

/// The label with the revision of a pod.
pub(crate) const REVISION: &str = "controller-revision-hash";
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The ordinal in the name of a pod of the set.
pub(super) fn ordinal(set: &str, pod: &str) -> Option<i32> {
    let number = pod.strip_prefix(set)?.strip_prefix('-')?;
    let plain = number.bytes().all(|b| b.is_ascii_digit());
    number.parse().ok().filter(|_| plain)
}

/// The revision of a pod.
pub(crate) fn revision_of(pod: &Pod) -> &str {
    pod.labels().get(REVISION).map_or("", String::as_str)
}

/// The pod with that ordinal.
pub(super) fn pod(
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    from: &PodTemplateSpec,
    revision: &str,
    ordinal: i32,
) -> Pod {
    let name = format!("{}-{ordinal}", set.name_any());
    let mut pod = pod_template::pod_from_template(from, set);
    let meta = &mut pod.metadata;
    meta.name = Some(name.clone());
    let labels = meta.labels.get_or_insert_default();
    labels.insert(POD_NAME.to_string(), name.clone());
    labels.insert(POD_INDEX.to_string(), ordinal.to_string());
    labels.insert(REVISION.to_string(), revision.to_string());
    if let Some(pod_spec) = &mut pod.spec {
        pod_spec.hostname = Some(name);
        pod_spec.subdomain = spec.service_name.clone().filter(|s| !s.is_empty());
        let mut volumes: Vec<Volume> = claims(set, spec, ordinal)
            .into_iter()
            .map(|(volume, claim)| Volume {
                name: volume,
                persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                    claim_name: claim.name_any(),
                    read_only: None,
                }),
                ..Volume::default()
            })
            .collect();
        let own = pod_spec.volumes.take().unwrap_or_default();
        let replaced = |v: &Volume| volumes.iter().any(|known| known.name == v.name);
        let own: Vec<Volume> = own.into_iter().filter(|v| !replaced(v)).collect();
        volumes.extend(own);
        pod_spec.volumes = Some(volumes).filter(|v| !v.is_empty());
    }
    pod
}

/// The claims of the pod with that ordinal, by volume name.
pub(super) fn claims(
    set: &StatefulSet,
    spec: &StatefulSetSpec,
    ordinal: i32,
) -> Vec<(String, PersistentVolumeClaim)> {
    let templates = spec.volume_claim_templates.iter().flatten();
    templates
        .map(|template| {
            let volume = template.name_any();
            let mut claim = template.clone();
            claim.metadata.name = Some(format!("{volume}-{}-{ordinal}", set.name_any()));
            claim.metadata.namespace = set.namespace();
            let labels = claim.metadata.labels.get_or_insert_default();
            labels.extend(spec.selector.match_labels.clone().unwrap_or_default());
            claim.status = None;
            (volume, claim)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pods_of_the_set_have_an_ordinal() {
        assert_eq!(ordinal("web", "web-12"), Some(12));
        assert_eq!(ordinal("web", "web-db-1"), None);
        assert_eq!(ordinal("web", "web-+1"), None);
        assert_eq!(ordinal("web", "other-1"), None);
    }

    #[test]
    fn pods_have_a_name_and_the_generated_name_of_the_template() {
        let mut set = StatefulSet::default();
        set.metadata.name = Some("web".into());
        let spec = StatefulSetSpec::default();
        let pod = pod(&set, &spec, &PodTemplateSpec::default(), "r", 1);
        assert_eq!(pod.metadata.name.as_deref(), Some("web-1"));
        assert_eq!(pod.metadata.generate_name.as_deref(), Some("web-"));
    }
}
