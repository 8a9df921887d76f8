//! LeaderWorkerSets: the pods of each group form a pod group with a prebuilt Workload.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;

use super::Denial;
use super::defaults::{self, set_annotation, set_label};
use super::deployment::validate_queue_name_update;
use super::stateful_set::validate_immutable_pod_group_pod_spec;
use super::tas_validation;
use super::validation::{self, IMMUTABLE};
use crate::job_annotations;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::leader_worker_set::{
    FRAMEWORK, GVK, LEADER_POD_SET_NAME, pod_sets, validate_replica_count,
};
use crate::jobs::leader_worker_set_spec::LeaderWorkerSet;
use crate::jobs::role_hash::spec_shape;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::validation::admission_gated_by_update;

/// Marks the pods of a managed LeaderWorkerSet as suspended by their parent.
pub(crate) async fn default(
    env: &IntegrationContext,
    namespace: &str,
    lws: &mut LeaderWorkerSet,
) -> Result<(), Denial> {
    defaults::apply_default_local_queue(env, namespace, &mut lws.metadata).await?;
    defaults::apply_default_workload_priority_class(env, &mut lws.metadata);
    if defaults::workload_should_be_suspended(env, namespace, &lws.metadata).await? {
        let queue = job_annotations::queue_name(&lws.metadata).to_owned();
        let class = job_annotations::workload_priority_class_name(&lws.metadata).to_owned();
        let templates = &mut lws.spec.leader_worker_template;
        if let Some(leader) = &mut templates.leader_template {
            set_template_defaults(leader, &queue, &class);
            set_pod_index_offset(env, &mut templates.worker_template);
        }
        set_template_defaults(&mut templates.worker_template, &queue, &class);
    }
    Ok(())
}

fn set_template_defaults(template: &mut PodTemplateSpec, queue: &str, class: &str) {
    let meta = template.metadata.get_or_insert_default();
    if !queue.is_empty() {
        set_label(meta, c::QUEUE_LABEL, queue);
    }
    if !class.is_empty() {
        set_label(meta, c::PRIORITY_CLASS_LABEL, class);
    }
    set_annotation(meta, c::SUSPENDED_BY_PARENT_ANNOTATION, FRAMEWORK);
    let (key, value) = (c::POD_GROUP_SERVING_ANNOTATION, c::POD_GROUP_SERVING_VALUE);
    set_annotation(meta, key, value);
}

/// The leader has index 0, so the indexes of workers start at 1. A group of pod sets has its own
/// order.
fn set_pod_index_offset(env: &IntegrationContext, workers: &mut PodTemplateSpec) {
    let meta = workers.metadata.get_or_insert_default();
    let annotations = meta.annotations.as_ref();
    let grouped = annotations.is_some_and(|map| map.contains_key(c::POD_SET_GROUP_NAME_ANNOTATION));
    if env.enabled(Feature::TopologyAwareScheduling) && !grouped {
        set_annotation(meta, c::POD_INDEX_OFFSET_ANNOTATION, "1");
    }
}

/// Validates a new or updated LeaderWorkerSet.
///
/// # Errors
/// Its annotations cannot be parsed, or its owners cannot be read.
pub(crate) async fn validate(
    env: &IntegrationContext,
    namespace: &str,
    new: &LeaderWorkerSet,
    old: Option<&LeaderWorkerSet>,
) -> Result<FieldErrors, Denial> {
    let meta = &new.metadata;
    let mut errors = validation::validate_serving_job(env, meta, None, &GVK);
    let spec = Path::new("spec");
    if let Err(error) = validate_replica_count(new.replicas()) {
        let path = spec.child("replicas");
        errors.push(FieldError::invalid(
            &path,
            &new.replicas(),
            error.to_string(),
        ));
    }
    let templates = spec.child("leaderWorkerTemplate");
    if env.enabled(Feature::TopologyAwareScheduling) {
        errors.extend(validate_topology_request(env, new, &templates)?);
    }
    let Some(old) = old else { return Ok(errors) };
    let ready = Some(old.status.ready_replicas);
    errors.extend(validate_queue_name_update(ready, meta, &old.metadata));
    if env.enabled(Feature::AdmissionGatedBy) {
        errors.extend(admission_gated_by_update(meta, &old.metadata));
    }
    if defaults::workload_should_be_suspended(env, namespace, meta).await? {
        errors.extend(validate_immutable_templates(env, new, old, &templates));
    }
    Ok(errors)
}

fn validate_immutable_templates(
    env: &IntegrationContext,
    new: &LeaderWorkerSet,
    old: &LeaderWorkerSet,
    templates: &Path,
) -> FieldErrors {
    let (to, from) = (
        &new.spec.leader_worker_template,
        &old.spec.leader_worker_template,
    );
    let path = templates.child("leaderTemplate");
    let mut errors = match (&to.leader_template, &from.leader_template) {
        (Some(to), Some(from)) => validate_immutable_pod_spec(to, from, &path),
        (None, None) => FieldErrors::new(),
        (to, _) => {
            let value = serde_json::to_value(to).unwrap_or_default();
            vec![FieldError::invalid(&path, &value, IMMUTABLE)]
        }
    };
    errors.extend(validate_immutable_pod_spec(
        &to.worker_template,
        &from.worker_template,
        &templates.child("workerTemplate"),
    ));
    // Workloads keep their pod sets.
    if env.enabled(Feature::LWSImmutableGroupSize) && new.size() != old.size() {
        let path = templates.child("size");
        errors.push(FieldError::invalid(&path, &new.size(), IMMUTABLE));
    }
    errors
}

fn validate_immutable_pod_spec(
    new: &PodTemplateSpec,
    old: &PodTemplateSpec,
    path: &Path,
) -> FieldErrors {
    let shape = |template: &PodTemplateSpec| -> Value {
        template.spec.as_ref().map(spec_shape).unwrap_or_default()
    };
    validate_immutable_pod_group_pod_spec(&shape(new), &shape(old), &path.child("spec"))
}

fn validate_topology_request(
    env: &IntegrationContext,
    lws: &LeaderWorkerSet,
    templates: &Path,
) -> Result<FieldErrors, Denial> {
    let (leader, worker) = ("leaderTemplate", "workerTemplate");
    let path = |template: &str| templates.child(template).child("metadata");
    let template = &lws.spec.leader_worker_template;
    let leader_template = template.leader_template.as_ref().map(|t| (leader, t));
    let all = leader_template
        .into_iter()
        .chain([(worker, &template.worker_template)]);
    let mut errors = FieldErrors::new();
    let sets = pod_sets(lws, &env.gates);
    for (i, (name, template)) in all.enumerate() {
        let meta = template.metadata.clone().unwrap_or_default();
        let path = path(name);
        errors.extend(tas_validation::validate_tas_pod_set_request(
            env, &path, &meta,
        ));
        if let Some(set) = sets.as_ref().ok().and_then(|sets| sets.get(i)) {
            let count = set.count;
            errors.extend(tas_validation::validate_slice_size_upper_bound(
                &path, &meta, count,
            ));
        }
    }
    match sets {
        Ok(sets) => {
            let of = |name: &str| {
                path(if name == LEADER_POD_SET_NAME {
                    leader
                } else {
                    worker
                })
            };
            let annotations: Vec<Path> = sets
                .iter()
                .map(|set| of(&set.name).child("annotations"))
                .collect();
            errors.extend(tas_validation::validate_pod_set_grouping_topology(
                &sets,
                &annotations,
            ));
        }
        Err(error) if errors.is_empty() => return Err(error.into()),
        Err(_) => {}
    }
    Ok(errors)
}
