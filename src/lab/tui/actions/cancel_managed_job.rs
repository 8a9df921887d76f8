//! Cancelling the managed job of SkyPilot that launched Pods.

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::{error_message, is_not_found};
use serde_json::json;

use super::delete::delete_objects;
use crate::backend::{Backend, OperationError};
use crate::model::{ManagedJobRef, SkyPilotCluster};
use crate::msg::Msg;
use crate::operation::Operation;

/// Cancels a managed job. Deleted Pods of its cluster would be launched again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CancelManagedJob(pub(crate) ManagedJobRef);

impl Operation for CancelManagedJob {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        let client = &backend.client;
        Msg::OperationFinished(match &self.0 {
            ManagedJobRef::OfCluster(cluster) => cancel_managed_job(client, cluster).await,
            ManagedJobRef::Object { name, title } => {
                let cancelled = cancel(&managed_jobs(client), name).await;
                cancelled.map(|()| format!("cancelled {title}"))
            }
        })
    }
}

fn managed_jobs(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("skypilot.kueue-lab.dev", "v1alpha1", "ManagedJob");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

fn failed(error: &kube::Error) -> OperationError {
    let reason = error_message(error);
    OperationError(format!("cannot cancel the managed job: {reason}"))
}

/// Sets `spec.cancelled` of a `ManagedJob`.
async fn cancel(jobs: &Api<DynamicObject>, name: &str) -> Result<(), OperationError> {
    let patch = Patch::Merge(json!({"spec": {"cancelled": true}}));
    let patched = jobs.patch(name, &PatchParams::default(), &patch).await;
    patched.map(|_| ()).map_err(|error| failed(&error))
}

/// Cancels the managed job that launched the Pods of a cluster; returns one sentence about the result.
/// Without such a job, or on a cluster that has no managed jobs, the Pods are deleted.
///
/// # Errors
/// The API server rejects a request.
pub async fn cancel_managed_job(
    client: &Client,
    cluster: &SkyPilotCluster,
) -> Result<String, OperationError> {
    let jobs = managed_jobs(client);
    let listed = match jobs.list(&ListParams::default()).await {
        Ok(listed) => listed.items,
        Err(error) if is_not_found(&error) => Vec::new(),
        Err(error) => return Err(failed(&error)),
    };
    let of_cluster = |job: &&DynamicObject| {
        job.data.pointer("/status/job/cluster") == Some(&json!(cluster.name))
    };
    let Some(job) = listed.iter().find(of_cluster) else {
        let deleted = delete_objects(client, &cluster.pods).await?;
        return Ok(format!(
            "{deleted}; SkyPilot launches a managed job again until `sky jobs cancel`"
        ));
    };
    cancel(&jobs, &job.name_any()).await?;
    let text = |field: &str| job.data["status"]["job"][field].to_string();
    let name = text("name");
    Ok(format!(
        "cancelled managed job {} ({})",
        text("id"),
        name.trim_matches('"')
    ))
}
