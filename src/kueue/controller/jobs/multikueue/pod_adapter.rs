//! The adapter of pods and pod groups.

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use kube::Client;
use kube::api::{DeleteParams, PostParams};
use kueue_lab_controller_runtime::{Api, ObjectKey};

use super::adapter::SyncJob;
use super::remote_object::{clone_object_meta_for_creation, set_multikueue_meta};
use crate::ControllerContext;
use crate::informers::BY_POD_GROUP;
use crate::job_annotations;
use crate::jobs::error::{JobError, ignore_not_found};
use crate::jobs::patching::{PatchTarget, patch_object};
use crate::object_meta;
use crate::pod_util::has_gate;
use kueue_lab_api::constants as c;

const POD_SCHEDULED: &str = "PodScheduled";

/// Syncs a pod, or all pods of its group.
///
/// # Errors
/// A request fails.
pub(super) async fn sync_pods(sync: &SyncJob<'_>) -> Result<(), JobError> {
    let pods: Api<Pod> = Api::namespaced(sync.local().clone(), &sync.key.namespace);
    let pod = pods.get(&sync.key.name).await?;
    let Some(group) = job_annotations::pod_group_name(&pod.metadata, sync.gates()) else {
        return sync_pod(sync, &pod).await;
    };
    for pod in local_pods(sync.shared, &sync.key.namespace, group) {
        sync_pod(sync, &pod).await?;
    }
    Ok(())
}

fn local_pods(
    shared: &ControllerContext,
    namespace: &str,
    group: &str,
) -> Vec<std::sync::Arc<Pod>> {
    let key = format!("{namespace}/{group}");
    shared.informers.pods.by_index(BY_POD_GROUP, &key)
}

async fn sync_pod(sync: &SyncJob<'_>, local: &Pod) -> Result<(), JobError> {
    let name = object_meta::name(&local.metadata);
    let remotes: Api<Pod> = Api::namespaced(sync.remote.clone(), &sync.key.namespace);
    if let Some(remote) = remotes.get_opt(name).await? {
        if local.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let mut after = local.clone();
        after.status = Some(status_update(local, &remote));
        let api: Api<Pod> = Api::namespaced(sync.local().clone(), &sync.key.namespace);
        patch_object(&api, local, &after, PatchTarget::Status).await?;
        return Ok(());
    }
    let mut remote = Pod {
        metadata: clone_object_meta_for_creation(&local.metadata),
        spec: local.spec.clone(),
        status: None,
    };
    let (gates, origin) = (sync.gates(), sync.origin);
    set_multikueue_meta(&mut remote.metadata, gates, sync.workload, origin);
    remotes.create(&PostParams::default(), &remote).await?;
    Ok(())
}

fn scheduled(status: Option<&PodStatus>) -> Option<&PodCondition> {
    let mut conditions = status?.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == POD_SCHEDULED)
}

/// The status of the remote pod. A gated local pod keeps its PodScheduled condition until the
/// remote pod is scheduled: an autoscaler would add a node for a local pod that is Unschedulable.
fn status_update(local: &Pod, remote: &Pod) -> PodStatus {
    let mut status = remote.status.clone().unwrap_or_default();
    let is_scheduled = scheduled(Some(&status)).is_some_and(|c| c.status == "True");
    let kept = scheduled(local.status.as_ref())
        .filter(|_| has_gate(local, c::ADMISSION_SCHEDULING_GATE) && !is_scheduled);
    if let Some(kept) = kept {
        let conditions = status.conditions.get_or_insert_default();
        match conditions.iter_mut().find(|c| c.type_ == kept.type_) {
            Some(same) => same.clone_from(kept),
            None => conditions.push(kept.clone()),
        }
    }
    status
}

/// Deletes a pod in the worker cluster, or all pods of its group.
///
/// # Errors
/// A request fails.
pub(super) async fn delete_remote_pods(
    shared: &ControllerContext,
    remote: &Client,
    key: &ObjectKey,
) -> Result<(), JobError> {
    let remotes: Api<Pod> = Api::namespaced(remote.clone(), &key.namespace);
    let Some(pod) = remotes.get_opt(&key.name).await? else {
        return Ok(());
    };
    let gates = &shared.settings.gates;
    let names = match job_annotations::pod_group_name(&pod.metadata, gates) {
        None => vec![key.name.clone()],
        Some(group) => {
            let pods = local_pods(shared, &key.namespace, group);
            pods.iter()
                .map(|pod| object_meta::name(&pod.metadata).to_owned())
                .collect()
        }
    };
    for name in names {
        let deleted = remotes.delete(&name, &DeleteParams::default()).await;
        ignore_not_found(deleted.map(drop).map_err(JobError::from))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_gated_pod_is_not_shown_as_unschedulable() {
        let pod = |gates: serde_json::Value, status: &str, reason: &str| -> Pod {
            let condition = json!({"type": "PodScheduled", "status": status, "reason": reason});
            serde_json::from_value(json!({
                "metadata": {"name": "p"}, "spec": {"containers": [], "schedulingGates": gates},
                "status": {"phase": "Pending", "conditions": [condition]},
            }))
            .unwrap()
        };
        let gated = json!([{"name": c::ADMISSION_SCHEDULING_GATE}]);
        let local = pod(gated, "False", "SchedulingGated");
        let reason = |status: PodStatus| {
            let condition = scheduled(Some(&status)).cloned();
            condition.and_then(|c| c.reason).unwrap_or_default()
        };
        let remote = pod(json!([]), "False", "Unschedulable");
        assert_eq!(reason(status_update(&local, &remote)), "SchedulingGated");
        let remote = pod(json!([]), "True", "Scheduled");
        assert_eq!(reason(status_update(&local, &remote)), "Scheduled");
    }
}
