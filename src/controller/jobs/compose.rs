//! Making Workloads of jobs.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::env::Env;
use super::error::JobError;
use super::frameworks::Gvk;
use super::job::GenericJob;
use super::names::workload_name;
use super::pod_sets::{clear_min_counts, sanitize};
use super::{marks, priority};
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::names::label_value;
use kueue_lab_api::v1beta2::{PodSet, Workload, WorkloadSpec};

/// The pod sets of a job as its Workload may have them.
///
/// # Errors
/// The job says something that cannot be read.
pub fn pod_sets(env: &Env, job: &(impl GenericJob + ?Sized)) -> Result<Vec<PodSet>, JobError> {
    let mut pod_sets = job.pod_sets(env)?;
    sanitize(&mut pod_sets);
    Ok(pod_sets)
}

/// A Workload with what an object says of it, but without owners.
pub fn workload(env: &Env, name: String, object: &ObjectMeta, pod_sets: Vec<PodSet>) -> Workload {
    let configuration = &env.shared.settings.configuration;
    let integrations = configuration.integrations.as_ref();
    let copied = integrations
        .map(|i| i.label_keys_to_copy.clone())
        .unwrap_or_default();
    let labels: BTreeMap<String, String> = object.labels.clone().unwrap_or_default();
    let labels = labels
        .into_iter()
        .filter(|(key, _)| copied.contains(key))
        .collect();
    let annotations: BTreeMap<String, String> = object.annotations.clone().unwrap_or_default();
    let parameters = annotations
        .into_iter()
        .filter(|(key, _)| key.starts_with(c::PROVISIONING_PARAMETER_PREFIX));
    let mut workload = Workload {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: object.namespace.clone(),
            labels: Some(labels),
            annotations: Some(parameters.collect()),
            finalizers: Some(vec![c::RESOURCE_IN_USE_FINALIZER.to_owned()]),
            ..Default::default()
        },
        spec: WorkloadSpec {
            queue_name: marks::queue_name(object).to_owned(),
            pod_sets,
            maximum_execution_time_seconds: marks::max_execution_seconds(object),
            ..Default::default()
        },
        ..Workload::default()
    };
    propagate_gated_by(env, object, &mut workload);
    workload
}

/// An owner reference, of the one that controls or of one of several.
pub fn owner(gvk: &Gvk, meta: &ObjectMeta, controls: bool) -> OwnerReference {
    OwnerReference {
        api_version: gvk.api_version(),
        kind: gvk.kind.clone().into_owned(),
        name: marks::name(meta).to_owned(),
        uid: marks::uid(meta).to_owned(),
        controller: controls.then_some(true),
        block_owner_deletion: controls.then_some(true),
    }
}

/// Marks a Workload with the UID of its job, where that can be a label.
pub fn set_job_uid(wl: &mut Workload, meta: &ObjectMeta) {
    let uid = marks::uid(meta);
    if label_value(uid).is_empty() {
        let labels = wl.metadata.labels.get_or_insert_default();
        labels.insert(c::JOB_UID_LABEL.to_owned(), uid.to_owned());
    }
}

/// The Workload of a job that is one object, without priority.
///
/// # Errors
/// The job says something that cannot be read.
pub fn of_one_object(env: &Env, job: &impl GenericJob) -> Result<Workload, JobError> {
    let meta = job.meta();
    let elastic = marks::is_elastic(meta, &env.gates);
    let extra = match elastic {
        true => meta.generation.unwrap_or(0).to_string(),
        false => String::new(),
    };
    let short = env.enabled(Feature::ShortWorkloadNames);
    let name = workload_name(
        marks::name(meta),
        marks::uid(meta),
        job.gvk(),
        &extra,
        short,
    );
    let mut wl = workload(env, name, meta, pod_sets(env, job)?);
    set_job_uid(&mut wl, meta);
    wl.metadata.owner_references = Some(vec![owner(job.gvk(), meta, true)]);
    Ok(wl)
}

/// Carries the gates of a job over to its Workload. True when that changed anything.
pub fn propagate_gated_by(env: &Env, job: &ObjectMeta, wl: &mut Workload) -> bool {
    if !env.enabled(Feature::AdmissionGatedBy) {
        return false;
    }
    let key = c::ADMISSION_GATED_BY_ANNOTATION;
    let wanted = marks::annotation(job, key);
    if wanted == marks::annotation(&wl.metadata, key) {
        return false;
    }
    let annotations = wl.metadata.annotations.get_or_insert_default();
    match wanted {
        Some(gates) => annotations.insert(key.to_owned(), gates.to_owned()),
        None => annotations.remove(key),
    };
    true
}

/// Completes a Workload: priority, gates, and what makes it a slice of an elastic job.
///
/// # Errors
/// The priority class does not exist, or there are more slices than there can be.
pub fn complete(
    env: &Env,
    job: &dyn GenericJob,
    wl: &mut Workload,
    active: Option<bool>,
) -> Result<(), JobError> {
    propagate_gated_by(env, job.meta(), wl);
    let reference = job.reference();
    let (class, value) = priority::resolve(
        env,
        &reference,
        job.meta(),
        job.priority_class(),
        &wl.spec.pod_sets,
    )?;
    wl.spec.priority_class_ref = class;
    wl.spec.priority = Some(value);
    clear_min_counts(&mut wl.spec.pod_sets, &env.gates);
    if marks::is_elastic(job.meta(), &env.gates) {
        return make_slice(env, job, wl);
    }
    wl.spec.active = active;
    Ok(())
}

fn make_slice(env: &Env, job: &dyn GenericJob, wl: &mut Workload) -> Result<(), JobError> {
    let open = env.open_workloads_of(job.gvk(), job.meta());
    let mut chain = predicates::name(wl).to_owned();
    let mut replaces = None;
    match open.as_slice() {
        [] => {}
        [old] => {
            let first = marks::annotation(&old.metadata, c::WORKLOAD_SLICE_NAME_ANNOTATION);
            chain = first.unwrap_or(predicates::name(old)).to_owned();
            replaces = Some(predicates::key(old).as_str().to_owned());
        }
        many => {
            let message = format!("unexpected workload-slices count: {}", many.len());
            return Err(JobError::NotYet(message));
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
