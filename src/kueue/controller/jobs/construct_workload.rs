//! Constructs Workloads from jobs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::error::JobError;
use super::generic_job::GenericJob;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::metadata_to_copy::MetadataToCopy;
use super::pod_sets::{clear_min_counts, sanitize_pod_sets};
use super::workload_names::workload_name;
use super::workload_priority;
use crate::job_annotations;
use crate::object_meta;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::name_validation::label_value;
use kueue_lab_api::v1beta2::{PodSet, Workload, WorkloadSpec};
use kueue_lab_engine::workload::predicates;

/// The pod sets of a job, sanitized for its Workload.
///
/// # Errors
/// A field of the job cannot be parsed.
pub(super) fn job_pod_sets(
    env: &IntegrationContext,
    job: &(impl GenericJob + ?Sized),
) -> Result<Vec<PodSet>, JobError> {
    let mut pod_sets = job.pod_sets(env)?;
    sanitize_pod_sets(&mut pod_sets);
    Ok(pod_sets)
}

/// A Workload with the copied labels and annotations and the queue name of an object, without
/// owners.
pub(super) fn new_workload(
    env: &IntegrationContext,
    name: String,
    object: &ObjectMeta,
    pod_sets: Vec<PodSet>,
    copied: &MetadataToCopy,
) -> Workload {
    let parameters = object.annotations.iter().flatten();
    let parameters =
        parameters.filter(|(key, _)| key.starts_with(c::PROVISIONING_PARAMETER_PREFIX));
    let mut annotations = copied.annotations(object);
    annotations.extend(parameters.map(|(key, value)| (key.clone(), value.clone())));
    let mut workload = Workload {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: object.namespace.clone(),
            labels: Some(copied.labels(object)),
            annotations: Some(annotations),
            finalizers: Some(vec![c::RESOURCE_IN_USE_FINALIZER.to_owned()]),
            ..Default::default()
        },
        spec: WorkloadSpec {
            queue_name: job_annotations::queue_name(object).to_owned(),
            pod_sets,
            maximum_execution_time_seconds: job_annotations::maximum_execution_time_seconds(object),
            ..Default::default()
        },
        ..Workload::default()
    };
    propagate_admission_gated_by(env, object, &mut workload);
    workload
}

/// An owner reference, as the controller or as one of several owners.
pub(super) fn owner_reference(gvk: &Gvk, meta: &ObjectMeta, controls: bool) -> OwnerReference {
    OwnerReference {
        api_version: gvk.api_version(),
        kind: gvk.kind.clone().into_owned(),
        name: object_meta::name(meta).to_owned(),
        uid: object_meta::uid(meta).to_owned(),
        controller: controls.then_some(true),
        block_owner_deletion: controls.then_some(true),
    }
}

/// Sets the job UID label, if the UID is a valid label value.
pub(super) fn set_job_uid_label(wl: &mut Workload, meta: &ObjectMeta) {
    let uid = object_meta::uid(meta);
    if label_value(uid).is_empty() {
        let labels = wl.metadata.labels.get_or_insert_default();
        labels.insert(c::JOB_UID_LABEL.to_owned(), uid.to_owned());
    }
}

/// The Workload of a single-object job, without priority.
///
/// # Errors
/// A field of the job cannot be parsed.
pub(super) fn construct_workload(
    env: &IntegrationContext,
    job: &impl GenericJob,
) -> Result<Workload, JobError> {
    let meta = job.meta();
    let elastic = job_annotations::is_elastic(meta, &env.gates);
    let extra = match elastic {
        true => job.workload_name_extra_part(),
        false => String::new(),
    };
    let short = env.enabled(Feature::ShortWorkloadNames);
    let name = workload_name(
        object_meta::name(meta),
        object_meta::uid(meta),
        job.gvk(),
        &extra,
        short,
    );
    let sets = job_pod_sets(env, job)?;
    let mut wl = new_workload(env, name, meta, sets, &env.metadata_to_copy);
    set_job_uid_label(&mut wl, meta);
    wl.metadata.owner_references = Some(vec![owner_reference(job.gvk(), meta, true)]);
    Ok(wl)
}

/// Copies AdmissionGatedBy from a job to its Workload. True if it changed.
pub(super) fn propagate_admission_gated_by(
    env: &IntegrationContext,
    job: &ObjectMeta,
    wl: &mut Workload,
) -> bool {
    if !env.enabled(Feature::AdmissionGatedBy) {
        return false;
    }
    let key = c::ADMISSION_GATED_BY_ANNOTATION;
    let wanted = object_meta::annotation(job, key);
    if wanted == object_meta::annotation(&wl.metadata, key) {
        return false;
    }
    let annotations = wl.metadata.annotations.get_or_insert_default();
    match wanted {
        Some(gates) => annotations.insert(key.to_owned(), gates.to_owned()),
        None => annotations.remove(key),
    };
    true
}

/// Completes a Workload: priority, admission gates and the annotations of a slice.
///
/// # Errors
/// The priority class does not exist, or the job has too many slices.
pub(super) fn prepare_workload(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    wl: &mut Workload,
    active: Option<bool>,
) -> Result<(), JobError> {
    propagate_admission_gated_by(env, job.meta(), wl);
    let reference = job.reference();
    let (class, value) = workload_priority::extract_priority(
        env,
        &reference,
        job.meta(),
        job.priority_class(),
        &wl.spec.pod_sets,
    )?;
    wl.spec.priority_class_ref = class;
    wl.spec.priority = Some(value);
    clear_min_counts(&mut wl.spec.pod_sets, &env.gates);
    if job_annotations::is_elastic(job.meta(), &env.gates) {
        return prepare_workload_slice(env, job, wl);
    }
    wl.spec.active = active;
    Ok(())
}

fn prepare_workload_slice(
    env: &IntegrationContext,
    job: &dyn GenericJob,
    wl: &mut Workload,
) -> Result<(), JobError> {
    let unfinished = env.not_finished_workloads(job.gvk(), job.meta());
    let mut chain = predicates::name(wl).to_owned();
    let mut replaces = None;
    match unfinished.as_slice() {
        [] => {}
        [old] => {
            let first = object_meta::annotation(&old.metadata, c::WORKLOAD_SLICE_NAME_ANNOTATION);
            chain = first.unwrap_or(predicates::name(old)).to_owned();
            replaces = Some(predicates::key(old).as_str().to_owned());
        }
        many => {
            let message = format!("unexpected workload-slices count: {}", many.len());
            return Err(JobError::Retryable(message));
        }
    }
    let annotations = wl.metadata.annotations.get_or_insert_default();
    annotations.insert(
        c::ELASTIC_JOB_ANNOTATION.to_owned(),
        c::ELASTIC_JOB_VALUE.to_owned(),
    );
    annotations.insert(c::WORKLOAD_SLICE_NAME_ANNOTATION.to_owned(), chain);
    if let Some(old) = replaces {
        annotations.insert(c::WORKLOAD_SLICE_REPLACEMENT_FOR_ANNOTATION.to_owned(), old);
    }
    Ok(())
}
