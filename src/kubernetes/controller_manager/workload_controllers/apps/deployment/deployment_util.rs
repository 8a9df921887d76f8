//! Helpers for the ReplicaSets of a Deployment, as upstream's deployment_util.go. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::api::ObjectMeta;

use kueue_lab_component_helpers::int_or_percent::scaled_value_from_int_or_percent;
use kueue_lab_controller_runtime::controller_reference;
use kueue_lab_controller_utils::pods;
use kueue_lab_controller_utils::template_hash;

/// The label that distinguishes the pods of ReplicaSets.
pub(super) const HASH: &str = "pod-template-hash";
/// Annotation with the revision of the rollout.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED_REPLICAS_ANNOTATION: &str = "deployment.kubernetes.io/desired-replicas";
const MAX_REPLICAS_ANNOTATION: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of a Deployment that are not copied to its ReplicaSets.
const ANNOTATIONS_TO_SKIP: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED_REPLICAS_ANNOTATION,
    MAX_REPLICAS_ANNOTATION,
    "deprecated.deployment.rollback.to",
];

/// `spec.replicas` of the Deployment. Counts are calculated as `i64`, in which sums of them do not overflow.
pub(super) fn replicas(deployment: &Deployment) -> i64 {
    let replicas = deployment.spec.as_ref().and_then(|s| s.replicas);
    replicas.unwrap_or(1).into()
}

/// `spec.replicas` of a ReplicaSet.
pub(super) fn size(set: &ReplicaSet) -> i64 {
    let size = set.spec.as_ref().and_then(|s| s.replicas);
    size.unwrap_or(1).into()
}

/// The number of available pods of a ReplicaSet.
pub(super) fn available(set: &ReplicaSet) -> i64 {
    let status = set.status.as_ref();
    let available = status.and_then(|s| s.available_replicas);
    available.unwrap_or(0).into()
}

/// A calculated count as in a spec or status.
pub(super) fn int32(count: i64) -> i32 {
    i32::try_from(count).unwrap_or(if count < 0 { i32::MIN } else { i32::MAX })
}

/// Whether the strategy is `Recreate`.
pub(super) fn recreates(deployment: &Deployment) -> bool {
    let strategy = deployment.spec.as_ref().and_then(|s| s.strategy.as_ref());
    strategy.and_then(|s| s.type_.as_deref()) == Some("Recreate")
}

/// `maxSurge` and `maxUnavailable` as numbers.
pub(super) fn resolve_fenceposts(deployment: &Deployment) -> (i64, i64) {
    let wanted = replicas(deployment);
    if recreates(deployment) || wanted == 0 {
        return (0, 0);
    }
    let strategy = deployment.spec.as_ref().and_then(|s| s.strategy.as_ref());
    let rolling = strategy
        .and_then(|s| s.rolling_update.clone())
        .unwrap_or_default();
    let quarter = || IntOrString::String("25%".to_string());
    let scaled = |value: Option<IntOrString>, up: bool| {
        let value = value.unwrap_or_else(quarter);
        i64::from(scaled_value_from_int_or_percent(&value, int32(wanted), up))
    };
    let surge = scaled(rolling.max_surge, true);
    let missing = scaled(rolling.max_unavailable, false);
    // With both 0 the rollout could never progress.
    let missing = if surge == 0 && missing == 0 {
        1
    } else {
        missing
    };
    (surge, missing.min(wanted))
}

/// The index in `sets` of the oldest ReplicaSet with the Deployment's template.
pub(super) fn find_new_replica_set(deployment: &Deployment, sets: &[ReplicaSet]) -> Option<usize> {
    let wanted = deployment.spec.as_ref().map(|s| s.template.clone())?;
    let mut same: Vec<usize> = (0..sets.len())
        .filter(|at| {
            let template = sets[*at].spec.as_ref().and_then(|s| s.template.clone());
            template.is_some_and(|t| without_hash(t) == without_hash(wanted.clone()))
        })
        .collect();
    same.sort_by_key(|at| (pods::created(&sets[*at]), sets[*at].name_any()));
    same.first().copied()
}

fn without_hash(mut template: PodTemplateSpec) -> PodTemplateSpec {
    let meta = template.metadata.get_or_insert_default();
    if let Some(labels) = &mut meta.labels {
        labels.remove(HASH);
    }
    template
}

/// The revision of a ReplicaSet.
pub(super) fn revision_of(set: &ReplicaSet) -> i64 {
    let text = set.annotations().get(REVISION);
    text.and_then(|t| t.parse().ok()).unwrap_or(0)
}

/// The Deployment's replicas when the ReplicaSet was last scaled.
pub(super) fn desired_replicas_annotation(set: &ReplicaSet) -> Option<i64> {
    int32_annotation(set, DESIRED_REPLICAS_ANNOTATION)
}

/// The maximum number of pods (replicas and surge) when the ReplicaSet was last scaled.
pub(super) fn max_replicas_annotation(set: &ReplicaSet) -> Option<i64> {
    int32_annotation(set, MAX_REPLICAS_ANNOTATION)
}

fn int32_annotation(set: &ReplicaSet, name: &str) -> Option<i64> {
    let text = set.annotations().get(name)?;
    text.parse::<i32>().ok().map(i64::from)
}

/// Sets the size of a ReplicaSet and its desired and max replicas annotations.
pub(super) fn set_replicas(set: &mut ReplicaSet, deployment: &Deployment, size: i64) {
    let wanted = replicas(deployment);
    let (surge, _) = resolve_fenceposts(deployment);
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert(DESIRED_REPLICAS_ANNOTATION.to_string(), wanted.to_string());
    annotations.insert(
        MAX_REPLICAS_ANNOTATION.to_string(),
        int32(wanted + surge).to_string(),
    );
    if let Some(spec) = &mut set.spec {
        spec.replicas = Some(int32(size));
    }
}

/// Updates the annotations of the new ReplicaSet.
pub(super) fn set_new_replica_set_annotations(
    set: &mut ReplicaSet,
    deployment: &Deployment,
    revision: i64,
) {
    let before = revision_of(set);
    let annotations = set.metadata.annotations.get_or_insert_default();
    for (key, value) in deployment.annotations() {
        if !ANNOTATIONS_TO_SKIP.contains(&key.as_str()) {
            annotations.insert(key.clone(), value.clone());
        }
    }
    if before < revision {
        let known = annotations.insert(REVISION.to_string(), revision.to_string());
        if let Some(known) = known.filter(|k| !k.is_empty()) {
            let history = annotations.get(HISTORY).filter(|h| !h.is_empty());
            let history = history.map_or(known.clone(), |h| format!("{h},{known}"));
            annotations.insert(HISTORY.to_string(), history);
        }
    }
}

/// A new ReplicaSet with the Deployment's template and without replicas.
pub(super) fn new_replica_set(
    deployment: &Deployment,
    spec: &DeploymentSpec,
    revision: i64,
) -> ReplicaSet {
    let collisions = deployment.status.as_ref().and_then(|s| s.collision_count);
    let hash = template_hash::compute_hash(&spec.template, collisions);
    let mut template = spec.template.clone();
    let labels = template
        .metadata
        .get_or_insert_default()
        .labels
        .get_or_insert_default();
    labels.insert(HASH.to_string(), hash.clone());
    let labels: BTreeMap<String, String> = labels.clone();
    let mut selector = spec.selector.clone();
    let wanted = selector.match_labels.get_or_insert_default();
    wanted.insert(HASH.to_string(), hash.clone());
    let mut set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", deployment.name_any())),
            namespace: deployment.namespace(),
            labels: Some(labels),
            owner_references: Some(vec![controller_reference(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            min_ready_seconds: spec.min_ready_seconds,
            replicas: Some(0),
            selector,
            template: Some(template),
        }),
        status: None,
    };
    set_new_replica_set_annotations(&mut set, deployment, revision);
    set
}
