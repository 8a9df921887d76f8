//! Nominates worker clusters for a Workload and creates its copies in them.

use super::component_workloads::{
    assigned_cluster, component_workloads, enqueue_component_workloads, is_primary,
};
use super::workload_group::WorkloadGroup;
use crate::jobs::error::JobError;
use crate::jobs::multikueue::clone_object_meta_for_creation;
use crate::workload_patching::{StatusApplyMode, patch_admission_status};
use kueue_lab_api::config::{DISPATCHER_ALL_AT_ONCE, Feature};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{CheckState, PreemptionGate, Workload, WorkloadStatus};
use kueue_lab_controller_runtime::ObjectKey;

/// Nominates clusters and syncs the copies with the nomination.
///
/// # Errors
/// A request fails, or a nominated cluster is not connected.
pub(super) async fn nominate_and_synchronize_workers(
    group: &mut WorkloadGroup<'_>,
) -> Result<(), JobError> {
    let others_ready = group.local.status.admission_checks.iter();
    let mut others_ready = others_ready.filter(|check| check.name != group.check.name);
    if !others_ready.all(|check| check.state == CheckState::Ready) {
        return Ok(());
    }
    let components = component_workloads(group.mk, &group.local);
    if group.adapter.has_several_workloads()
        && let Some(components) = &components
    {
        if !all_expected_workloads_exist(group, components.len()).await? {
            return Ok(());
        }
        enqueue_component_workloads(group.mk, &group.local);
    }
    let components = components.unwrap_or_default();
    if let Some(cluster) = assigned_cluster(&group.local, &components)? {
        return sync_to_assigned_cluster(group, &cluster).await;
    }
    if group.adapter.has_several_workloads() && !is_primary(&group.local, &components) {
        return Ok(());
    }
    let nominated = nominated_workers(group).await?;
    let mut failed = Ok(());
    for cluster in &nominated {
        if !group.remote_clients.contains_key(cluster) {
            failed = Err(JobError::Retryable(format!(
                "cluster {cluster}: no remote client for nominated cluster"
            )));
        }
    }
    let synced = synchronize(group, &nominated, true).await;
    failed.and(synced)
}

async fn all_expected_workloads_exist(
    group: &WorkloadGroup<'_>,
    actual: usize,
) -> Result<bool, JobError> {
    use kueue_lab_engine::workload::predicates::annotation;
    let Some(owner) = annotation(&group.local, c::JOB_OWNER_NAME_ANNOTATION) else {
        return Ok(true);
    };
    let job = ObjectKey::new(group.job.namespace.clone(), owner);
    let client = &group.mk.shared.ctx.client;
    let expected = group.adapter.expected_workload_count(client, &job).await?;
    Ok(actual >= expected)
}

/// Creates the copy in the cluster of the other Workloads of the job.
async fn sync_to_assigned_cluster(
    group: &mut WorkloadGroup<'_>,
    cluster: &str,
) -> Result<(), JobError> {
    if !group.remotes.contains_key(cluster) {
        return Err(JobError::Retryable(format!(
            "assigned worker cluster {cluster:?} is not available"
        )));
    }
    let nominated = vec![cluster.to_owned()];
    let current = &group.local.status.nominated_cluster_names;
    if !current.contains(&nominated[0]) {
        patch_nomination(group, &nominated).await?;
    }
    synchronize(group, &nominated, false).await
}

async fn patch_nomination(group: &WorkloadGroup<'_>, names: &[String]) -> Result<(), JobError> {
    let (shared, mode) = (&group.mk.shared, StatusApplyMode::Strict);
    patch_admission_status(shared, &group.local, mode, |wl| {
        wl.status.nominated_cluster_names = names.to_vec();
        true
    })
    .await?;
    Ok(())
}

/// The clusters for copies: that of an elastic Workload, all, or those that a dispatcher nominated.
async fn nominated_workers(group: &WorkloadGroup<'_>) -> Result<Vec<String>, JobError> {
    let status = &group.local.status;
    if let Some(cluster) = status.cluster_name.clone().filter(|_| group.is_elastic()) {
        return Ok(vec![cluster]);
    }
    if group.mk.dispatcher_name() != DISPATCHER_ALL_AT_ONCE {
        return Ok(status.nominated_cluster_names.clone());
    }
    let all = group.clusters();
    let mut current = status.nominated_cluster_names.clone();
    current.sort();
    if current != all {
        patch_nomination(group, &all).await?;
    }
    Ok(all)
}

/// Creates the copies in nominated clusters and deletes others.
async fn synchronize(
    group: &mut WorkloadGroup<'_>,
    nominated: &[String],
    gated: bool,
) -> Result<(), JobError> {
    let mut failed = Ok(());
    for cluster in group.clusters() {
        let exists = group.remote(&cluster).is_some();
        let done = match (nominated.contains(&cluster), exists) {
            (true, false) => {
                let clone = clone_for_create(group, gated);
                group.create_remote(&cluster, &clone).await
            }
            (false, true) => group.remove_remote_objects(&cluster).await,
            _ => Ok(()),
        };
        if let Err(error) = done {
            tracing::debug!(cluster, %error, "cannot synchronize a nominated cluster");
            failed = Err(error);
        }
    }
    failed
}

/// The copy of the Workload to create, whose preemption gate is closed until the manager opens it.
fn clone_for_create(group: &WorkloadGroup<'_>, gated: bool) -> Workload {
    let mut metadata = clone_object_meta_for_creation(&group.local.metadata);
    let labels = metadata.labels.get_or_insert_default();
    labels.remove(c::JOB_UID_LABEL);
    let origin = group.mk.origin().to_owned();
    labels.insert(c::MULTI_KUEUE_ORIGIN_LABEL.to_owned(), origin);
    let mut clone = Workload {
        metadata,
        spec: group.local.spec.clone(),
        status: WorkloadStatus::default(),
    };
    let settings = &group.mk.shared.settings;
    if gated && settings.enabled(Feature::MultiKueueOrchestratedPreemption) {
        clone.spec.preemption_gates = vec![PreemptionGate {
            name: c::MULTI_KUEUE_PREEMPTION_GATE.to_owned(),
        }];
    }
    clone
}
