//! The priority of a Workload, and its sync with the priority class label of the job.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::sync::Arc;

use super::error::JobError;
use super::integration_context::IntegrationContext;
use super::patching::update_workload;
use crate::job_annotations;
use crate::object_meta;
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::{PodSet, PriorityClassKind, PriorityClassRef, Workload};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::workload::predicates;

type Priority = (Option<PriorityClassRef>, i32);

/// The priority of a job: from its WorkloadPriorityClass, else from the PriorityClass of the job or
/// its pods, else from the default PriorityClass.
///
/// # Errors
/// The class does not exist.
pub(super) fn extract_priority(
    env: &IntegrationContext,
    job: &ObjectReference,
    meta: &ObjectMeta,
    own_class: Option<String>,
    pod_sets: &[PodSet],
) -> Result<Priority, JobError> {
    let informers = &env.shared.informers;
    let key = |name: &str| ObjectKey {
        namespace: String::new(),
        name: name.to_owned(),
    };
    let name = job_annotations::workload_priority_class_name(meta);
    if !name.is_empty() {
        let Some(class) = informers.workload_priority_classes.get(&key(name)) else {
            let message = format!("WorkloadPriorityClass {name:?} not found");
            env.record_warning_event(
                job.clone(),
                event::WORKLOAD_PRIORITY_CLASS_NOT_FOUND,
                message,
            );
            let message = format!("WorkloadPriorityClass.kueue.x-k8s.io {name:?} not found");
            return Err(JobError::Retryable(message));
        };
        return Ok((Some(PriorityClassRef::workload(name)), class.value));
    }
    let of_pods = || {
        let specs = pod_sets.iter().filter_map(|ps| ps.template.spec.as_ref());
        let mut names = specs.filter_map(|spec| spec.priority_class_name.clone());
        names.find(|name| !name.is_empty())
    };
    let name = own_class.or_else(of_pods).unwrap_or_default();
    if name.is_empty() {
        let all = informers.priority_classes.list();
        let defaults = all
            .iter()
            .filter(|class| class.global_default == Some(true));
        let lowest = defaults.min_by_key(|class| class.value);
        return Ok(lowest.map_or((None, c::DEFAULT_PRIORITY), |class| {
            (
                Some(PriorityClassRef::pod(object_meta::name(&class.metadata))),
                class.value.unwrap_or(c::DEFAULT_PRIORITY),
            )
        }));
    }
    let missing = || {
        JobError::Retryable(format!(
            "PriorityClass.scheduling.k8s.io {name:?} not found"
        ))
    };
    let class = informers
        .priority_classes
        .get(&key(&name))
        .ok_or_else(missing)?;
    Ok((
        Some(PriorityClassRef::pod(name.as_str())),
        class.value.unwrap_or(c::DEFAULT_PRIORITY),
    ))
}

fn priority_class_name(wl: &Workload) -> &str {
    wl.spec
        .priority_class_ref
        .as_ref()
        .map_or("", |class| class.name.as_str())
}

/// Whether the priority of a Workload is synced with the label of its job: it has a
/// WorkloadPriorityClass, or neither a class nor a quota reservation.
fn follows_job_priority_label(wl: &Workload) -> bool {
    match &wl.spec.priority_class_ref {
        None => !predicates::has_quota_reservation(wl),
        Some(class) => class.kind == PriorityClassKind::WorkloadPriorityClass,
    }
}

/// Syncs the priorities of a job's Workloads with its label. Returns the Workloads as written.
///
/// # Errors
/// The class does not exist, or a request fails.
pub(super) async fn update_workload_priority(
    env: &IntegrationContext,
    job: &ObjectReference,
    meta: &ObjectMeta,
    own_class: Option<String>,
    mut workloads: Vec<Arc<Workload>>,
) -> Result<Vec<Arc<Workload>>, JobError> {
    let wanted = job_annotations::workload_priority_class_name(meta);
    let following = workloads.iter().filter(|wl| follows_job_priority_label(wl));
    let Some(first) = following
        .clone()
        .find(|wl| priority_class_name(wl) != wanted)
    else {
        return Ok(workloads);
    };
    let (class, priority) = extract_priority(env, job, meta, own_class, &first.spec.pod_sets)?;
    // Workloads with the class of the label come first, so that a failure in between is detected by
    // the next reconciliation.
    let mut order: Vec<usize> = (0..workloads.len())
        .filter(|i| follows_job_priority_label(&workloads[*i]))
        .collect();
    order.sort_by_key(|i| priority_class_name(&workloads[*i]) != wanted);
    for i in order {
        let wl = &workloads[i];
        if wl.spec.priority == Some(priority) && wl.spec.priority_class_ref == class {
            continue;
        }
        let mut changed = wl.as_ref().clone();
        changed.spec.priority = Some(priority);
        changed.spec.priority_class_ref.clone_from(&class);
        let written = update_workload(env, &changed).await?;
        let message = format!(
            "Updated workload priority class: {}",
            predicates::key(&written)
        );
        env.record_normal_event(job.clone(), event::UPDATED_WORKLOAD, message);
        workloads[i] = written;
    }
    Ok(workloads)
}
