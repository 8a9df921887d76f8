//! The pod set infos of an admitted Workload, and the comparison of a job with its Workload.

use std::sync::Arc;

use super::construct_workload::job_pod_sets;
use super::error::JobError;
use super::generic_job::GenericJob;
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError, merge_into};
use super::pod_sets::{clear_min_counts, compare_pod_set_lists};
use crate::job_annotations;
use crate::object_meta;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::name_validation::dns1123_label;
use kueue_lab_api::v1beta2::{PodSet, Workload};
use kueue_lab_controller_runtime::{ObjectKey, controller_of};
use kueue_lab_engine::workload::predicates;

/// The infos from the admission and the admission checks.
///
/// # Errors
/// A flavor does not exist, or infos conflict.
pub(super) fn pod_set_infos_from_status(
    env: &IntegrationContext,
    wl: &Workload,
) -> Result<Vec<PodSetInfo>, JobError> {
    let Some(admission) = &wl.status.admission else {
        return Ok(Vec::new());
    };
    let assignments = admission.pod_set_assignments.iter().zip(&wl.spec.pod_sets);
    assignments
        .map(|(assignment, pod_set)| {
            let tas = env.enabled(Feature::TopologyAwareScheduling);
            let names = assignment.flavors.values();
            let flavors: Vec<_> = names.filter_map(|name| flavor(env, name)).collect();
            let find = |name: &str| {
                let mut all = flavors.iter().map(AsRef::as_ref);
                all.find(|f: &&kueue_lab_api::v1beta2::ResourceFlavor| {
                    object_meta::name(&f.metadata) == name
                })
            };
            let mut info = PodSetInfo::from_assignment(assignment, pod_set, tas, find)?;
            assign_labels_and_annotations(env, wl, &mut info, tas);
            for check in &wl.status.admission_checks {
                let update = check.pod_set_updates.iter().find(|u| u.name == info.name);
                if let Some(update) = update {
                    info.merge(&PodSetInfo::from_update(update))
                        .map_err(|source| {
                            let (check, source) = (check.name.clone(), Box::new(source));
                            PodSetInfoError::InCheck { check, source }
                        })?;
                }
            }
            Ok(info)
        })
        .collect()
}

fn flavor(
    env: &IntegrationContext,
    name: &str,
) -> Option<std::sync::Arc<kueue_lab_api::v1beta2::ResourceFlavor>> {
    let key = ObjectKey {
        namespace: String::new(),
        name: name.to_owned(),
    };
    env.shared.informers.resource_flavors.get(&key)
}

fn assign_labels_and_annotations(
    env: &IntegrationContext,
    wl: &Workload,
    info: &mut PodSetInfo,
    tas: bool,
) {
    let mut annotate =
        |key: &str, value: &str| info.annotations.insert(key.to_owned(), value.to_owned());
    if tas {
        annotate(c::WORKLOAD_ANNOTATION, predicates::name(wl));
    }
    if predicates::is_elastic(wl, &env.shared.engine_gates) {
        let chain = predicates::annotation(wl, c::WORKLOAD_SLICE_NAME_ANNOTATION);
        annotate(
            c::WORKLOAD_SLICE_NAME_ANNOTATION,
            chain.unwrap_or(predicates::name(wl)),
        );
    }
    let name = info.name.clone();
    let mut label = |key: &str, value: &str| info.labels.insert(key.to_owned(), value.to_owned());
    label(c::POD_SET_LABEL, &name);
    if predicates::label(wl, c::MULTI_KUEUE_ORIGIN_LABEL).is_some() {
        label(
            c::MULTI_KUEUE_WORKER_POD_LABEL,
            c::MULTI_KUEUE_WORKER_POD_VALUE,
        );
    }
    if env.enabled(Feature::AssignQueueLabelsForPods) {
        label(c::LOCAL_QUEUE_LABEL, &wl.spec.queue_name);
        let queue = wl
            .status
            .admission
            .as_ref()
            .map_or("", |a| a.cluster_queue.as_str());
        if dns1123_label(queue).is_empty() {
            label(c::CLUSTER_QUEUE_LABEL, queue);
        }
    }
}

/// The original values of the pod sets.
pub(super) fn pod_set_infos_from_workload(wl: Option<&Workload>) -> Vec<PodSetInfo> {
    let pod_sets = wl.into_iter().flat_map(|wl| &wl.spec.pod_sets);
    pod_sets.map(PodSetInfo::from_pod_set).collect()
}

/// The pod sets of the running job, if the Workload has a quota reservation.
fn expected_running_pod_sets(env: &IntegrationContext, wl: &Workload) -> Option<Vec<PodSet>> {
    if !predicates::has_quota_reservation(wl) {
        return None;
    }
    let infos = pod_set_infos_from_status(env, wl).ok()?;
    let in_part = predicates::can_be_partially_admitted(wl);
    let mut running = wl.spec.pod_sets.clone();
    for pod_set in &mut running {
        let info = infos.iter().find(|info| info.name == pod_set.name)?;
        let template = Arc::make_mut(&mut pod_set.template);
        let meta = template.metadata.get_or_insert_default();
        let spec = template.spec.get_or_insert_default();
        merge_into(meta, spec, info, &env.gates).ok()?;
        if in_part && pod_set.min_count.is_some() {
            pod_set.count = info.count;
        }
    }
    Some(running)
}

/// Whether a Workload matches the current job.
///
/// # Errors
/// A field of the job cannot be parsed.
pub(super) fn equivalent_to_workload(
    env: &IntegrationContext,
    job: &impl GenericJob,
    wl: &Workload,
) -> Result<bool, JobError> {
    let meta = job.meta();
    let owner = controller_of(&wl.metadata);
    let Some(owner) = owner.filter(|owner| owner.name == object_meta::name(meta)) else {
        return Ok(false);
    };
    if env.enabled(Feature::FinishOrphanedWorkloads) && owner.uid != object_meta::uid(meta) {
        return Ok(false);
    }
    if wl.spec.maximum_execution_time_seconds
        != job_annotations::maximum_execution_time_seconds(meta)
    {
        return Ok(false);
    }
    let mut wanted = job_pod_sets(env, job)?;
    clear_min_counts(&mut wanted, &env.gates);
    let with_tolerations = !predicates::is_admitted(wl);
    let like_spec = || compare_pod_set_lists(&wanted, &wl.spec.pod_sets, with_tolerations);
    Ok(match expected_running_pod_sets(env, wl) {
        // A job that is admitted but not started has its original pod sets.
        Some(running) => {
            compare_pod_set_lists(&wanted, &running, with_tolerations)
                || (job.is_suspended() && like_spec())
        }
        None => like_spec(),
    })
}
