//! The worker cluster that admitted a Workload: the copies in others are deleted, the job is
//! created and synced, and the check is set to Ready.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kueue_lab_controller_runtime::ReconcileResult;

use super::component_workloads::enqueue_component_workloads;
use super::reconcile_group::{deferred_sync, record_event, set_check_state, sync_job};
use super::workload_group::WorkloadGroup;
use crate::MetricEvent;
use crate::jobs::error::JobError;
use crate::workload_patching::{
    StatusApplyMode, patch_admission_status, patch_remote_admission_status,
};
use kueue_lab_api::constants::{self as c, evicted};
use kueue_lab_api::v1beta2::{CheckState, DelayedTopologyRequestState, PodSetAssignment, Workload};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::{condition, set_condition};
use kueue_lab_engine::workload::predicates;

/// Syncs a Workload with the cluster that admitted it.
///
/// # Errors
/// A request fails.
pub(super) async fn sync_admitting_remote(
    mut group: WorkloadGroup<'_>,
    admitting: &str,
) -> Result<ReconcileResult, JobError> {
    for cluster in group.clusters() {
        if cluster != admitting && group.remote(&cluster).is_some() {
            group.remove_remote_objects(&cluster).await?;
        }
    }
    if let Some(eviction) = predicates::true_condition(&group.local, c::EVICTED) {
        deactivate_remote(&group, admitting, eviction).await?;
        return Ok(ReconcileResult::Done);
    }
    let deferred = sync_job(&group, admitting).await?;
    let became_ready = update_local_status(&group, admitting).await?;
    if became_ready {
        let event = MetricEvent::MultiKueueWorkloadAdmitted {
            cluster_queue: group.cluster_queue(),
            cluster: admitting,
        };
        group.mk.shared.notify_metric_event(&event);
    }
    Ok(deferred_sync(deferred, group.mk.worker_lost_timeout()))
}

/// Evicts the copy of a Workload that is evicted in the manager.
async fn deactivate_remote(
    group: &WorkloadGroup<'_>,
    cluster: &str,
    eviction: &Condition,
) -> Result<(), JobError> {
    let (Some(remote), client) = (group.remote(cluster), group.client(cluster)?) else {
        return Ok(());
    };
    let (now, reason) = (group.mk.shared.now(), evicted::ON_MANAGER_CLUSTER);
    let message = format!("Evicted on manager: {}", eviction.message);
    patch_remote_admission_status(&client, remote, |wl| {
        let target = condition(wl, c::DEACTIVATION_TARGET, true, reason, &message, now);
        set_condition(&mut wl.status.conditions, target)
    })
    .await?;
    Ok(())
}

/// Sets the check to Ready and the cluster name; returns whether the check was not ready before.
async fn update_local_status(group: &WorkloadGroup<'_>, admitting: &str) -> Result<bool, JobError> {
    let Some(remote) = group.remote(admitting) else {
        return Ok(false);
    };
    let needs_topology_update = needs_delayed_topology_update(&group.local, remote);
    let state = group.check.state;
    let needs_check_update = !matches!(state, CheckState::Retry | CheckState::Rejected);
    if !needs_topology_update && !needs_check_update {
        return Ok(false);
    }
    let current = group.local.status.cluster_name.as_deref();
    if needs_check_update && current.is_some_and(|name| name != admitting) {
        return Err(JobError::Retryable(format!(
            "attempting to change immutable ClusterName from {:?} to {admitting:?}",
            current.unwrap_or_default()
        )));
    }
    let (shared, now) = (&group.mk.shared, group.mk.shared.now());
    let message = format!("The workload was admitted on {admitting:?}");
    let mode = StatusApplyMode::Strict;
    let written = patch_admission_status(shared, &group.local, mode, |wl| {
        if needs_topology_update {
            update_delayed_topology_request(wl, remote);
        }
        if needs_check_update {
            set_check_state(wl, &group.check.name, CheckState::Ready, &message, now);
            wl.status.cluster_name = Some(admitting.to_owned());
            wl.status.nominated_cluster_names.clear();
        }
        true
    });
    let written = written.await?.unwrap_or_else(|| group.local.clone());
    if needs_check_update {
        record_event(group, &written, EventType::Normal, message);
        enqueue_component_workloads(group.mk, &group.local);
    }
    Ok(needs_check_update && state != CheckState::Ready)
}

fn pod_set_assignments(wl: &Workload) -> &[PodSetAssignment] {
    let admission = wl.status.admission.as_ref();
    admission.map_or(&[], |admission| &admission.pod_set_assignments)
}

fn has_topology(remote: &Workload, pod_set: &str) -> bool {
    let mut assignments = pod_set_assignments(remote).iter();
    assignments.any(|psa| psa.name == pod_set && psa.topology_assignment.is_some())
}

fn is_delayed(assignment: &PodSetAssignment) -> bool {
    assignment.delayed_topology_request == Some(DelayedTopologyRequestState::Pending)
}

/// Whether the worker cluster assigned a topology that the manager does not have.
fn needs_delayed_topology_update(local: &Workload, remote: &Workload) -> bool {
    pod_set_assignments(local).iter().any(|psa| {
        has_topology(remote, &psa.name) && (psa.topology_assignment.is_none() || is_delayed(psa))
    })
}

fn update_delayed_topology_request(local: &mut Workload, remote: &Workload) {
    let admission = local.status.admission.iter_mut();
    for psa in admission.flat_map(|admission| &mut admission.pod_set_assignments) {
        if has_topology(remote, &psa.name) && is_delayed(psa) {
            psa.delayed_topology_request = Some(DelayedTopologyRequestState::Ready);
        }
    }
}
