//! [`Adapter`]: how MultiKueue creates the job of a kind in a worker cluster, copies its status and
//! deletes it.

use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kueue_lab_controller_runtime::{Api, ObjectKey};
use serde_json::{Map, Value, json};

use super::remote_object::{clone_for_creation, set_multikueue_meta, set_origin};
use super::{elastic_replicas, job_adapter, pod_adapter};
use crate::ControllerContext;
use crate::job_annotations;
use crate::jobs::error::{JobError, ignore_not_found};
use crate::jobs::integration_manager::Gvk;
use crate::jobs::leader_worker_set;
use crate::jobs::patching::create_merge_patch;
use crate::jobs::train_job::RUNTIME_PATCH_MANAGER;
use crate::object_meta;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::workload::predicates;

/// The field of a job with the controller that runs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManagedBy {
    /// The path below `spec`.
    pub path: &'static [&'static str],
    /// The field as messages name it.
    pub named: &'static str,
}

/// The sync of the jobs of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sync {
    /// The status is copied.
    CopyStatus(ManagedBy),
    /// `batch/v1` Jobs: the status is copied when the local Job may have it.
    Job(ManagedBy),
    /// Pods and pod groups.
    Pod,
    /// The status is not copied: the local controller would overwrite it.
    StatefulSet,
    /// As StatefulSets, with a Workload for each group.
    LeaderWorkerSet,
}

/// The adapter of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    /// The resource of the kind.
    pub(super) resource: ApiResource,
    /// Group, version and kind.
    pub(crate) gvk: Gvk,
    pub(super) sync: Sync,
}

/// The job to sync, and the clusters.
pub(crate) struct SyncJob<'a> {
    /// The state shared by the controllers of the manager.
    pub shared: &'a ControllerContext,
    /// The client of the worker cluster.
    pub remote: &'a Client,
    /// The job, in both clusters.
    pub key: &'a ObjectKey,
    /// The name of its Workload.
    pub workload: &'a str,
    /// The label value of this manager.
    pub origin: &'a str,
}

impl SyncJob<'_> {
    pub(super) fn gates(&self) -> &FeatureGates {
        &self.shared.settings.gates
    }

    pub(super) fn local(&self) -> &Client {
        &self.shared.ctx.client
    }
}

/// A path below the spec of an object.
fn spec_field<'a>(object: &'a DynamicObject, path: &[&str]) -> Option<&'a Value> {
    let spec = object.data.get("spec")?;
    path.iter().try_fold(spec, |value, name| value.get(name))
}

fn remove_spec_field(object: &mut DynamicObject, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let spec = object.data.get_mut("spec");
    let parent = parents
        .iter()
        .fold(spec, |value, name| value.and_then(|v| v.get_mut(name)));
    if let Some(map) = parent.and_then(Value::as_object_mut) {
        map.remove(*last);
    }
}

/// The status of an object; empty if it has none.
pub(super) fn status_of(object: &DynamicObject) -> Value {
    let status = object.data.get("status").cloned();
    status.unwrap_or_else(|| Value::Object(Map::new()))
}

impl Adapter {
    /// The API of the kind in the namespace of a job.
    pub(super) fn api(&self, client: &Client, key: &ObjectKey) -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), &key.namespace, &self.resource)
    }

    /// The URL path of the kind in all namespaces.
    pub(crate) fn url_path(&self) -> String {
        <DynamicObject as kube::Resource>::url_path(&self.resource, None)
    }

    /// The API of the kind in all namespaces.
    pub(crate) fn api_all(&self, client: &Client) -> Api<DynamicObject> {
        Api::all_with(client.clone(), &self.resource)
    }

    /// The reason a job cannot be delegated: another controller manages it. None if it can.
    ///
    /// # Errors
    /// The job cannot be read.
    pub(crate) async fn unmanaged_reason(
        &self,
        local: &Client,
        key: &ObjectKey,
    ) -> Result<Option<String>, JobError> {
        let (Sync::CopyStatus(field) | Sync::Job(field)) = self.sync else {
            return Ok(None);
        };
        let job = self.api(local, key).get(&key.name).await?;
        let manager = spec_field(&job, field.path).and_then(Value::as_str);
        let manager = manager.unwrap_or_default();
        Ok((manager != c::MULTI_KUEUE_CONTROLLER).then(|| {
            let (field, expected) = (field.named, c::MULTI_KUEUE_CONTROLLER);
            format!("Expecting {field} to be {expected:?} not {manager:?}")
        }))
    }

    /// Creates the job in the worker cluster, or copies its status to the local one. Returns
    /// whether the status was not copied because the local job is still suspended, so that the sync
    /// has to be repeated soon.
    ///
    /// # Errors
    /// A request fails.
    pub(crate) async fn sync_job(&self, sync: &SyncJob<'_>) -> Result<bool, JobError> {
        if let Sync::Pod = self.sync {
            pod_adapter::sync_pods(sync).await?;
            return Ok(false);
        }
        let local = self.api(sync.local(), sync.key).get(&sync.key.name).await?;
        let remotes = self.api(sync.remote, sync.key);
        let Some(remote) = remotes.get_opt(&sync.key.name).await? else {
            return self.create_remote_object(sync, &local).await;
        };
        match self.sync {
            Sync::Job(_) => {
                let now = sync.shared.now();
                let (status, deferred) = job_adapter::status_update(&local, &remote, now);
                self.patch_local_status(sync, &local, &status).await?;
                if elastic_replicas::job_needs_sync(sync, &self.gvk, &local, &remote) {
                    elastic_replicas::sync_job(sync, &remotes, &local, &remote).await?;
                }
                Ok(deferred)
            }
            Sync::CopyStatus(_) => {
                let status = status_of(&remote);
                self.patch_local_status(sync, &local, &status).await?;
                self.sync_remote_spec(sync, &local, &remote).await?;
                Ok(false)
            }
            Sync::StatefulSet | Sync::LeaderWorkerSet | Sync::Pod => Ok(false),
        }
    }

    async fn create_remote_object(
        &self,
        sync: &SyncJob<'_>,
        local: &DynamicObject,
    ) -> Result<bool, JobError> {
        let mut remote = clone_for_creation(local, &self.gvk);
        if let Sync::LeaderWorkerSet = self.sync {
            set_origin(&mut remote.metadata, sync.origin);
        } else {
            let (gates, origin) = (sync.gates(), sync.origin);
            set_multikueue_meta(&mut remote.metadata, gates, sync.workload, origin);
        }
        match self.sync {
            // Without it, the worker's controller runs the job.
            Sync::CopyStatus(field) => remove_spec_field(&mut remote, field.path),
            Sync::Job(field) => {
                remove_spec_field(&mut remote, field.path);
                job_adapter::remove_generated_fields(&mut remote);
            }
            Sync::StatefulSet | Sync::LeaderWorkerSet => {
                let annotations = remote.metadata.annotations.get_or_insert_default();
                let uid = object_meta::uid(&local.metadata).to_owned();
                annotations.insert(c::MULTI_KUEUE_ORIGIN_UID_ANNOTATION.to_owned(), uid);
            }
            Sync::Pod => {}
        }
        if self.gvk.kind == "TrainJob" {
            remove_runtime_patch(&mut remote);
        }
        let api = self.api(sync.remote, sync.key);
        let created = api.create(&PostParams::default(), &remote).await;
        match created.map_err(JobError::from) {
            // The groups of a LeaderWorkerSet are synced one by one.
            Err(error) if error.is_already_exists() && self.has_several_workloads() => Ok(false),
            created => created.map(|_| false),
        }
    }

    async fn patch_local_status(
        &self,
        sync: &SyncJob<'_>,
        local: &DynamicObject,
        status: &Value,
    ) -> Result<(), JobError> {
        let patch = create_merge_patch(&status_of(local), status);
        if patch.as_object().is_none_or(Map::is_empty) {
            return Ok(());
        }
        let version = &local.metadata.resource_version;
        let body = json!({ "metadata": { "resourceVersion": version }, "status": patch });
        let api = self.api(sync.local(), sync.key);
        let body = Patch::Merge(&body);
        api.patch_status(&sync.key.name, &PatchParams::default(), &body)
            .await?;
        Ok(())
    }

    /// Syncs changes of the local spec to the worker cluster: the size of elastic RayClusters, and
    /// the Serve configuration of RayServices.
    async fn sync_remote_spec(
        &self,
        sync: &SyncJob<'_>,
        local: &DynamicObject,
        remote: &DynamicObject,
    ) -> Result<(), JobError> {
        let remotes = self.api(sync.remote, sync.key);
        match &*self.gvk.kind {
            "RayCluster" => {
                elastic_replicas::sync_ray_cluster(sync, &self.gvk, &remotes, local, remote).await
            }
            "RayService" if sync.gates().enabled(Feature::MultiKueueRemoteSpecSync) => {
                let config = |object| spec_field(object, &["serveConfigV2"]).cloned();
                let (wanted, current) = (config(local), config(remote));
                if wanted == current {
                    return Ok(());
                }
                let body = json!({
                    "metadata": { "resourceVersion": remote.metadata.resource_version },
                    "spec": { "serveConfigV2": wanted },
                });
                let patch = Patch::Merge(&body);
                let patched = remotes
                    .patch(&sync.key.name, &PatchParams::default(), &patch)
                    .await;
                patched.map(drop).map_err(|error| {
                    JobError::Retryable(format!("failed to sync remote RayService spec: {error}"))
                })
            }
            _ => Ok(()),
        }
    }

    /// Deletes the job in the worker cluster.
    pub(super) async fn delete_remote_object(
        &self,
        shared: &ControllerContext,
        remote: &Client,
        key: &ObjectKey,
    ) -> Result<(), JobError> {
        if let Sync::Pod = self.sync {
            return pod_adapter::delete_remote_pods(shared, remote, key).await;
        }
        let params = match self.sync {
            Sync::Job(_) => DeleteParams::background(),
            _ => DeleteParams::default(),
        };
        let deleted = self.api(remote, key).delete(&key.name, &params).await;
        ignore_not_found(deleted.map(drop).map_err(JobError::from))
    }

    /// The Workloads of a job in a worker cluster; of a job with several, those that exist.
    pub(crate) fn workload_keys(
        &self,
        job: &DynamicObject,
        shared: &ControllerContext,
    ) -> Vec<ObjectKey> {
        let (meta, settings) = (&job.metadata, &shared.settings);
        let namespace = object_meta::namespace(meta);
        if let Sync::LeaderWorkerSet = self.sync {
            return group_workload_keys(job, namespace, shared);
        }
        let name = job_annotations::prebuilt_workload_name(meta, &settings.gates);
        name.map(|name| ObjectKey::new(namespace, name))
            .into_iter()
            .collect()
    }

    /// Whether changes of the local spec have to be synced immediately.
    pub(crate) fn watches_local_jobs(&self) -> bool {
        self.gvk.kind == "RayService"
    }

    /// Whether a job has several Workloads.
    pub(crate) fn has_several_workloads(&self) -> bool {
        matches!(self.sync, Sync::LeaderWorkerSet)
    }

    /// The number of Workloads of a job with several.
    ///
    /// # Errors
    /// The job cannot be read, or its number of replicas is out of range.
    pub(crate) async fn expected_workload_count(
        &self,
        local: &Client,
        key: &ObjectKey,
    ) -> Result<usize, JobError> {
        let job = self.api(local, key).get(&key.name).await?;
        let replicas = replicas(&job)?;
        Ok(usize::try_from(replicas).unwrap_or(0))
    }
}

/// The index of a Workload among those of a job; None if the job has only one.
pub(crate) fn workload_index(wl: &Workload) -> Option<u32> {
    predicates::annotation(wl, c::COMPONENT_WORKLOAD_INDEX_ANNOTATION)?
        .parse()
        .ok()
}

fn replicas(lws: &DynamicObject) -> Result<i32, leader_worker_set::ReplicaCountError> {
    let replicas = spec_field(lws, &["replicas"]).and_then(Value::as_i64);
    let replicas = i32::try_from(replicas.unwrap_or(1)).unwrap_or(i32::MAX);
    leader_worker_set::validate_replica_count(replicas)?;
    Ok(replicas)
}

fn group_workload_keys(
    lws: &DynamicObject,
    namespace: &str,
    shared: &ControllerContext,
) -> Vec<ObjectKey> {
    let meta = &lws.metadata;
    let origin = object_meta::annotation(meta, c::MULTI_KUEUE_ORIGIN_UID_ANNOTATION);
    let (Some(uid), Ok(replicas)) = (origin, replicas(lws)) else {
        return Vec::new();
    };
    let short = shared.settings.enabled(Feature::ShortWorkloadNames);
    let set = object_meta::name(meta);
    let is_of_group = |wl: &Workload| {
        workload_index(wl).is_some_and(|index| {
            let name =
                || leader_worker_set::workload_name_of_group(set, uid, &index.to_string(), short);
            i64::from(index) < i64::from(replicas) && predicates::name(wl) == name()
        })
    };
    let workloads = shared.informers.workloads.list_namespace(namespace);
    let of_groups = workloads.iter().filter(|wl| is_of_group(wl));
    of_groups
        .map(|wl| ObjectKey::new(namespace, predicates::name(wl)))
        .collect()
}

/// Removes Kueue's patch of the runtime of a TrainJob, so that the worker's Kueue adds its own.
fn remove_runtime_patch(job: &mut DynamicObject) {
    let patches = job.data.pointer_mut("/spec/runtimePatches");
    if let Some(patches) = patches.and_then(Value::as_array_mut) {
        patches.retain(|patch| {
            patch.get("manager").and_then(Value::as_str) != Some(RUNTIME_PATCH_MANAGER)
        });
    }
}
