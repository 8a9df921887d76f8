//! Writes of Workload status: server-side apply with one field manager per part, as upstream does.

use std::sync::Arc;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kueue_lab_controller_runtime::Api;
use serde_json::{Value, json};

use super::ControllerContext;
use crate::update::patch_params;
use kueue_lab_api::conditions::find_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{Workload, WorkloadStatus};
use kueue_lab_engine::workload::predicates;

/// The conditions owned by the admission field manager.
const ADMISSION_CONDITIONS: [&str; 9] = [
    c::QUOTA_RESERVED,
    c::BLOCKED_ON_PREEMPTION_GATES,
    c::EVICTED,
    c::ADMITTED,
    c::PREEMPTED,
    c::REQUEUED,
    c::DEACTIVATION_TARGET,
    c::FINISHED,
    c::PODS_READY,
];

/// Whether a write has the resourceVersion as precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusApplyMode {
    /// A Conflict if the object changed.
    Strict,
    /// No precondition.
    Loose,
}

/// The client for Workloads of a namespace.
pub(crate) fn workload_api(shared: &ControllerContext, namespace: &str) -> Api<Workload> {
    Api::namespaced(shared.ctx.client.clone(), namespace)
}

/// Applies the status fields of `manager`; its fields that `status` lacks are removed.
///
/// # Errors
/// The API server rejects the request, for example with a Conflict, or is unavailable.
pub(crate) async fn apply_workload_status(
    shared: &ControllerContext,
    wl: &Workload,
    manager: &str,
    status: Value,
    mode: StatusApplyMode,
) -> kube::Result<Arc<Workload>> {
    let written = apply_status(&shared.ctx.client, wl, manager, status, mode).await?;
    let written = Arc::new(written);
    shared.informers.workloads.observe_write(written.clone());
    Ok(written)
}

async fn apply_status(
    client: &Client,
    wl: &Workload,
    manager: &str,
    status: Value,
    mode: StatusApplyMode,
) -> kube::Result<Workload> {
    let meta = &wl.metadata;
    let mut metadata = json!({ "name": meta.name, "namespace": meta.namespace });
    if let Some(uid) = &meta.uid {
        metadata["uid"] = json!(uid);
    }
    if mode == StatusApplyMode::Strict {
        metadata["resourceVersion"] = json!(meta.resource_version);
    }
    let body = json!({
        "apiVersion": kueue_lab_api::v1beta2::API_VERSION,
        "kind": "Workload",
        "metadata": metadata,
        "status": status,
    });
    let api: Api<Workload> = Api::namespaced(client.clone(), predicates::namespace(wl));
    let params = PatchParams::apply(manager).force();
    api.patch_status(predicates::name(wl), &params, &Patch::Apply(&body))
        .await
}

/// The status fields of the admission field manager.
fn admission_status_patch(status: &WorkloadStatus) -> Value {
    let conditions = ADMISSION_CONDITIONS.iter();
    let conditions = conditions.filter_map(|t| find_condition(&status.conditions, t));
    let empty =
        |s: &kueue_lab_api::v1beta2::RequeueState| s.count.is_none() && s.requeue_at.is_none();
    let part = WorkloadStatus {
        conditions: conditions.cloned().collect(),
        admission: status.admission.clone(),
        requeue_state: status.requeue_state.clone().filter(|s| !empty(s)),
        resource_requests: match status.admission {
            Some(_) => Vec::new(),
            None => status.resource_requests.clone(),
        },
        accumulated_past_execution_time_seconds: status.accumulated_past_execution_time_seconds,
        scheduling_stats: status.scheduling_stats.clone(),
        cluster_name: status.cluster_name.clone(),
        nominated_cluster_names: status.nominated_cluster_names.clone(),
        unhealthy_nodes: status.unhealthy_nodes.clone(),
        preemption_gates: status.preemption_gates.clone(),
        admission_checks: status.admission_checks.clone(),
        reclaimable_pods: Vec::new(),
    };
    serde_json::to_value(part).unwrap_or_default()
}

/// Applies a change of the status fields of admission. None if nothing changed.
///
/// # Errors
/// The API server rejects the request, for example with a Conflict, or is unavailable.
pub(crate) async fn patch_admission_status(
    shared: &ControllerContext,
    wl: &Workload,
    mode: StatusApplyMode,
    change: impl FnOnce(&mut Workload) -> bool,
) -> kube::Result<Option<Arc<Workload>>> {
    let mut after = wl.clone();
    if !change(&mut after) {
        return Ok(None);
    }
    let part = admission_status_patch(&after.status);
    let written = apply_workload_status(shared, &after, c::ADMISSION_MANAGER, part, mode).await?;
    Ok(Some(written))
}

/// As [`patch_admission_status`], of a Workload in a worker cluster.
///
/// # Errors
/// As [`patch_admission_status`].
pub(crate) async fn patch_remote_admission_status(
    client: &Client,
    wl: &Workload,
    change: impl FnOnce(&mut Workload) -> bool,
) -> kube::Result<()> {
    let mut after = wl.clone();
    if !change(&mut after) {
        return Ok(());
    }
    let part = admission_status_patch(&after.status);
    let (manager, mode) = (c::ADMISSION_MANAGER, StatusApplyMode::Strict);
    apply_status(client, &after, manager, part, mode).await?;
    Ok(())
}

/// Merge-patches the status with the resourceVersion as precondition.
///
/// # Errors
/// The API server rejects the request, for example with a Conflict, or is unavailable.
pub(crate) async fn merge_patch_workload_status(
    shared: &ControllerContext,
    wl: &Workload,
    status: Value,
) -> kube::Result<Arc<Workload>> {
    let body = json!({
        "metadata": { "resourceVersion": wl.metadata.resource_version },
        "status": status,
    });
    let api = workload_api(shared, predicates::namespace(wl));
    let written = api
        .patch_status(predicates::name(wl), &patch_params(), &Patch::Merge(&body))
        .await?;
    let written = Arc::new(written);
    shared.informers.workloads.observe_write(written.clone());
    Ok(written)
}
