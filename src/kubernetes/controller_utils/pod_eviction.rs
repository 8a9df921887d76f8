//! Deletes pods because of taints, as the taint eviction controllers of nodes and of devices do.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;

use crate::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey};

/// The reason of the deletion of a pod.
pub struct Eviction {
    /// The Event of the pod.
    pub event: NewEvent,
    /// The reason of its condition `DisruptionTarget`.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: &'static str,
}

/// Records the Event, sets the condition `DisruptionTarget` and deletes the pod. A pod that is gone or was
/// replaced is left alone.
///
/// # Errors
/// A write failed.
pub async fn add_condition_and_delete_pod(
    context: &Context,
    pods: &Informer<Pod>,
    recorder: &EventRecorder,
    pod: &Pod,
    eviction: Eviction,
) -> kube::Result<()> {
    let key = ObjectKey::of(pod);
    recorder.event(pod, eviction.event);
    let patch = json!({"metadata": {"uid": pod.uid()}, "status": {"conditions": [{
        "type": "DisruptionTarget",
        "status": "True",
        "reason": eviction.reason,
        "message": eviction.message,
        "lastTransitionTime": context.clock.time(),
    }]}});
    let api: Api<Pod> = Api::namespaced(context.client.clone(), &key.namespace);
    let (params, patch) = (PatchParams::default(), Patch::Strategic(&patch));
    match api.patch_status(&key.name, &params, &patch).await {
        Ok(pod) => pods.observe_write(Arc::new(pod)),
        Err(error) if is_not_found(&error) || is_conflict(&error) => return Ok(()),
        Err(error) => return Err(error),
    }
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: pod.uid(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match api.delete(&key.name, &params).await {
        Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(()),
        other => other.map(drop),
    }
}
