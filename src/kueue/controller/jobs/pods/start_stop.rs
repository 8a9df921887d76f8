//! Writes to pods: start, stop and removal of the finalizer.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kueue_lab_controller_runtime::{Api, object_reference};
use serde_json::json;

use super::pod_state::is_gated;
use crate::MetricEvent;
use crate::jobs::error::{JobError, ignore_not_found};
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::patching::{PatchTarget, patch_object};
use crate::jobs::pod_set_info::{PodSetInfo, merge_into};
use crate::object_meta;
use crate::pod_util::ungate;
use kueue_lab_api::constants::{self as c, event};
use kueue_lab_api::v1beta2::Workload;

/// Attempts to remove the finalizer on conflicts.
const MAX_ATTEMPTS: usize = 5;

fn api(env: &IntegrationContext, pod: &Pod) -> Api<Pod> {
    Api::namespaced(
        env.shared.ctx.client.clone(),
        object_meta::namespace(&pod.metadata),
    )
}

/// Merges the pod set info into a gated pod of a Workload and removes its gate.
///
/// # Errors
/// The info conflicts with the pod, or the request fails.
pub(super) async fn start_pod(
    env: &IntegrationContext,
    pod: &mut Pod,
    info: &PodSetInfo,
    message: &str,
    workload: Option<&Workload>,
    is_group: bool,
) -> Result<(), JobError> {
    if !is_gated(pod) {
        return Ok(());
    }
    let before = pod.clone();
    let spec = pod.spec.get_or_insert_default();
    merge_into(&mut pod.metadata, spec, info, &env.gates)?;
    ungate(spec, c::ADMISSION_SCHEDULING_GATE);
    // Without a topology assignment the ungater would never remove the topology gate.
    if info
        .scheduling_gates
        .iter()
        .all(|g| g.name != c::TOPOLOGY_SCHEDULING_GATE)
    {
        ungate(spec, c::TOPOLOGY_SCHEDULING_GATE);
    }
    *pod = patch_object(&api(env, pod), &before, pod, PatchTarget::Object).await?;
    env.shared
        .informers
        .pods
        .observe_write(Arc::new(pod.clone()));
    env.record_normal_event(object_reference(pod), event::STARTED, message);
    if let Some(workload) = workload {
        env.shared
            .notify_metric_event(&MetricEvent::SchedulingGateRemoved {
                gate: c::ADMISSION_SCHEDULING_GATE,
                workload,
                is_group,
            });
    }
    Ok(())
}

/// Sets the TerminationTarget condition of a pod and deletes it.
///
/// # Errors
/// A request fails.
pub(super) async fn stop_pod(
    env: &IntegrationContext,
    pod: &Pod,
    reason: &str,
    message: &str,
) -> Result<(), JobError> {
    let (api, name) = (api(env, pod), object_meta::name(&pod.metadata));
    let condition = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": pod.metadata.namespace, "uid": pod.metadata.uid},
        "status": {"conditions": [{
            "type": c::TERMINATION_TARGET,
            "status": "True",
            "lastTransitionTime": env.shared.ctx.clock.time(),
            "reason": reason,
            "message": message,
        }]},
    });
    let params = PatchParams::apply(c::KUEUE_NAME).force();
    let patched = api
        .patch_status(name, &params, &Patch::Apply(&condition))
        .await;
    match patched.map_err(JobError::from) {
        Ok(patched) => env.shared.informers.pods.observe_write(Arc::new(patched)),
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    }
    let deleted = match api.delete(name, &DeleteParams::default()).await {
        Ok(deleted) => deleted,
        Err(error) => return ignore_not_found(Err(error.into())),
    };
    // Without its deletion timestamp the pod would be stopped again by the next reconcile.
    if let Some(pod) = deleted.left().filter(outlives_deletion) {
        env.shared.informers.pods.observe_write(Arc::new(pod));
    }
    Ok(())
}

/// Whether a pod exists after the response to its deletion.
fn outlives_deletion(pod: &Pod) -> bool {
    let meta = &pod.metadata;
    let has_finalizers = meta.finalizers.as_ref().is_some_and(|f| !f.is_empty());
    let is_graceful = meta.deletion_grace_period_seconds.unwrap_or(0) > 0;
    meta.deletion_timestamp.is_some() && (has_finalizers || is_graceful)
}

/// Removes Kueue's finalizer from a pod. True if it was present.
///
/// # Errors
/// The request fails.
pub(super) async fn remove_pod_finalizer(
    env: &IntegrationContext,
    pod: &Pod,
) -> Result<bool, JobError> {
    let api = api(env, pod);
    let mut pod = pod.clone();
    for attempt in 1.. {
        if !object_meta::has_finalizer(&pod.metadata, c::POD_FINALIZER) {
            return Ok(false);
        }
        let mut without_finalizer = pod.clone();
        let finalizers = without_finalizer.metadata.finalizers.iter_mut();
        finalizers.for_each(|list| list.retain(|f| f != c::POD_FINALIZER));
        match patch_object(&api, &pod, &without_finalizer, PatchTarget::Object).await {
            Ok(written) => {
                // Removing the last finalizer of a terminating pod deletes it.
                let terminating = written.metadata.deletion_timestamp.is_some();
                let finalizers = written.metadata.finalizers.as_ref();
                if !terminating || finalizers.is_some_and(|f| !f.is_empty()) {
                    env.shared.informers.pods.observe_write(Arc::new(written));
                }
                return Ok(true);
            }
            Err(JobError::Api(kube::Error::Api(status)))
                if status.code == 409 && attempt < MAX_ATTEMPTS =>
            {
                match api.get_opt(object_meta::name(&pod.metadata)).await? {
                    Some(newest) if newest.metadata.uid == pod.metadata.uid => pod = newest,
                    _ => return Ok(false),
                }
            }
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_pods_outlive_the_response_with_a_finalizer_or_gracefully() {
        let outlives = |meta: serde_json::Value| {
            let pod = serde_json::from_value(json!({"metadata": meta})).unwrap();
            outlives_deletion(&pod)
        };
        let now = "2026-01-01T00:00:00Z";
        assert!(outlives(
            json!({"deletionTimestamp": now, "finalizers": ["f"]})
        ));
        assert!(outlives(
            json!({"deletionTimestamp": now, "deletionGracePeriodSeconds": 30})
        ));
        assert!(!outlives(
            json!({"deletionTimestamp": now, "deletionGracePeriodSeconds": 0})
        ));
        assert!(!outlives(json!({})));
    }
}
