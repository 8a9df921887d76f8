//! Syncs the size of elastic Jobs and RayClusters to the worker cluster.

use std::collections::BTreeMap;

use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::Api;
use serde_json::{Value, json};

use super::adapter::SyncJob;
use super::remote_object::set_prebuilt_workload_name;
use crate::job_annotations;
use crate::jobs::error::JobError;
use crate::jobs::generic_job::JobKind;
use crate::jobs::integration_manager::Gvk;
use crate::jobs::patching::create_merge_patch;
use crate::jobs::ray_cluster::{RayCluster, RayClusterKind};
use crate::jobs::workload_names::workload_name;
use crate::object_meta;
use kueue_lab_api::config::Feature;

fn parallelism(job: &DynamicObject) -> i64 {
    let parallelism = job.data.pointer("/spec/parallelism");
    parallelism.and_then(Value::as_i64).unwrap_or(0)
}

/// The Workload name of the current slice of a job.
fn current_slice(sync: &SyncJob<'_>, gvk: &Gvk, job: &DynamicObject, extra: &str) -> String {
    let short = sync.gates().enabled(Feature::ShortWorkloadNames);
    let (name, uid) = (
        object_meta::name(&job.metadata),
        object_meta::uid(&job.metadata),
    );
    workload_name(name, uid, gvk, extra, short)
}

fn has_workload(sync: &SyncJob<'_>, remote: &DynamicObject) -> bool {
    let named = job_annotations::prebuilt_workload_name(&remote.metadata, sync.gates());
    named == Some(sync.workload)
}

/// Whether parallelism or Workload of an elastic Job differ. An old slice of a Job that was scaled
/// up in the meantime is not synced.
pub(super) fn job_needs_sync(
    sync: &SyncJob<'_>,
    gvk: &Gvk,
    local: &DynamicObject,
    remote: &DynamicObject,
) -> bool {
    if !job_annotations::is_elastic(&local.metadata, sync.gates()) {
        return false;
    }
    let (old, new) = (parallelism(remote), parallelism(local));
    let generation = local.metadata.generation.unwrap_or(0).to_string();
    if old < new && sync.workload != current_slice(sync, gvk, local, &generation) {
        return false;
    }
    old != new || !has_workload(sync, remote)
}

/// Sets parallelism and Workload of the remote Job.
///
/// # Errors
/// The request fails.
pub(super) async fn sync_job(
    sync: &SyncJob<'_>,
    api: &Api<DynamicObject>,
    local: &DynamicObject,
    remote: &DynamicObject,
) -> Result<(), JobError> {
    let mut after = remote.clone();
    if let Some(spec) = after.data.get_mut("spec") {
        spec["parallelism"] = json!(local.data.pointer("/spec/parallelism"));
    }
    set_prebuilt_workload_name(&mut after.metadata, sync.gates(), sync.workload);
    patch(api, remote, &after).await
}

async fn patch(
    api: &Api<DynamicObject>,
    before: &DynamicObject,
    after: &DynamicObject,
) -> Result<(), JobError> {
    let value = |object: &DynamicObject| object.to_value().unwrap_or_default();
    let mut body = create_merge_patch(&value(before), &value(after));
    body["metadata"]["resourceVersion"] = json!(before.metadata.resource_version);
    let name = object_meta::name(&before.metadata);
    let kind = before.types.as_ref().map_or("", |types| &types.kind);
    api.patch(name, &PatchParams::default(), &Patch::Merge(&body))
        .await
        .map(drop)
        .map_err(|error| JobError::Retryable(format!("failed to patch remote {kind}: {error}")))
}

fn worker_replicas(cluster: &RayCluster) -> BTreeMap<String, i32> {
    let groups = cluster.spec.worker_group_specs.iter();
    groups
        .map(|group| (group.pod_set_name(), group.effective_worker_count()))
        .collect()
}

/// Sets the worker replicas and the Workload of an elastic RayCluster in the worker cluster, if
/// they differ.
///
/// # Errors
/// A request fails, or an object is not a RayCluster.
pub(super) async fn sync_ray_cluster(
    sync: &SyncJob<'_>,
    gvk: &Gvk,
    api: &Api<DynamicObject>,
    local: &DynamicObject,
    remote: &DynamicObject,
) -> Result<(), JobError> {
    if !job_annotations::is_elastic(&local.metadata, sync.gates()) {
        return Ok(());
    }
    let typed = |object: &DynamicObject| {
        let value = object.to_value().map_err(kube::Error::SerdeError)?;
        RayCluster::from_value(&value).map_err(kube::Error::SerdeError)
    };
    let cluster = typed(local)?;
    let (old, new) = (worker_replicas(&typed(remote)?), worker_replicas(&cluster));
    let total =
        |counts: &BTreeMap<String, i32>| counts.values().map(|n| i64::from(*n)).sum::<i64>();
    let extra = RayClusterKind::workload_name_extra_part(&cluster);
    let stale =
        total(&old) < total(&new) && sync.workload != current_slice(sync, gvk, local, &extra);
    if stale || (old == new && has_workload(sync, remote)) {
        return Ok(());
    }
    let mut after = remote.clone();
    copy_worker_replicas(&mut after, local);
    set_prebuilt_workload_name(&mut after.metadata, sync.gates(), sync.workload);
    patch(api, remote, &after).await
}

fn copy_worker_replicas(remote: &mut DynamicObject, local: &DynamicObject) {
    let groups = local.data.pointer("/spec/workerGroupSpecs");
    let groups = groups.and_then(Value::as_array).into_iter().flatten();
    let groups: BTreeMap<&str, &Value> = groups
        .filter_map(|group| Some((group.get("groupName")?.as_str()?, group)))
        .collect();
    let remotes = remote.data.pointer_mut("/spec/workerGroupSpecs");
    let remotes = remotes.and_then(Value::as_array_mut).into_iter().flatten();
    for group in remotes.filter_map(Value::as_object_mut) {
        let name = group.get("groupName").and_then(Value::as_str);
        let Some(wanted) = name.and_then(|name| groups.get(name)) else {
            continue;
        };
        for field in ["replicas", "numOfHosts"] {
            match wanted.get(field) {
                Some(value) => group.insert(field.to_owned(), value.clone()),
                None => group.remove(field),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_replicas_are_copied_by_group_name() {
        let cluster = |groups: Value| -> DynamicObject {
            serde_json::from_value(json!({
                "apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"},
                "spec": {"workerGroupSpecs": groups},
            }))
            .unwrap()
        };
        let local = cluster(json!([
            {"groupName": "b", "replicas": 4}, {"groupName": "a", "numOfHosts": 2},
        ]));
        let mut remote = cluster(json!([
            {"groupName": "a", "replicas": 1}, {"groupName": "b", "replicas": 1},
            {"groupName": "c", "replicas": 7},
        ]));
        copy_worker_replicas(&mut remote, &local);
        assert_eq!(
            remote.data["spec"]["workerGroupSpecs"],
            json!([
                {"groupName": "a", "numOfHosts": 2}, {"groupName": "b", "replicas": 4},
                {"groupName": "c", "replicas": 7},
            ])
        );
    }
}
