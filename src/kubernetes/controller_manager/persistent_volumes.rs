//! The persistent volume controller with a simulated provisioner: binds every claim to a volume of
//! the requested size.
//!
//! The volumes store nothing; they only allow pods with claims to start. A volume whose `claimRef`
//! names the claim, or that the claim's `volumeName` names, is bound to it; for other claims one is
//! provisioned.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, ObjectReference, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimStatus, PersistentVolumeSpec,
};
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;

use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

const WORKERS: usize = 2;
/// Annotation of provisioned volumes, which are deleted with their claims.
const PROVISIONED_BY_ANNOTATION: &str = "pv.kubernetes.io/provisioned-by";
const PROVISIONER_NAME: &str = "kueue-lab.dev/volumes";

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let client = context.client.clone();
    let claims: Informer<PersistentVolumeClaim> =
        Informer::builder(Api::all(client.clone())).start(context);
    let on_claim = queue.clone();
    claims.add_event_handler(move |change| {
        let bound = |claim: &PersistentVolumeClaim| {
            let phase = claim.status.as_ref().and_then(|s| s.phase.as_deref());
            phase == Some("Bound")
        };
        if matches!(change, Change::Deleted(_)) || !bound(change.object()) {
            on_claim.add(ObjectKey::of(change.object().as_ref()));
        }
    });
    let binder = Arc::new(PersistentVolumeController { client, claims });
    queue.run(context, "volumes", WORKERS, move |key| {
        let binder = binder.clone();
        async move { binder.reconcile(&key).await }
    });
}

struct PersistentVolumeController {
    client: kube::Client,
    claims: Informer<PersistentVolumeClaim>,
}

impl PersistentVolumeController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let done = match self.claims.get(key) {
            None => self.reclaim(key).await,
            Some(claim) if claim.metadata.deletion_timestamp.is_some() => Ok(()),
            Some(claim) => self.bind(key, &claim).await,
        };
        match done {
            Ok(()) => Ok(ReconcileResult::Done),
            Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) => Err(error),
        }
    }

    async fn bind(
        &self,
        key: &ObjectKey,
        claim: &PersistentVolumeClaim,
    ) -> Result<(), kube::Error> {
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let spec = claim.spec.clone().unwrap_or_default();
        let volume = match spec.volume_name.as_deref().filter(|n| !n.is_empty()) {
            Some(name) => volumes.get(name).await?,
            None => self.provision(&volumes, key, claim).await?,
        };
        let claims: Api<PersistentVolumeClaim> =
            Api::namespaced(self.client.clone(), &key.namespace);
        let volume_name = volume.name_any();
        let params = PatchParams::default();
        if spec.volume_name.as_deref() != Some(volume_name.as_str()) {
            let patch = json!({
                "metadata": {"annotations": {
                    "pv.kubernetes.io/bind-completed": "yes",
                    "pv.kubernetes.io/bound-by-controller": "yes",
                }},
                "spec": {"volumeName": volume_name},
            });
            claims
                .patch(&key.name, &params, &Patch::Merge(patch))
                .await?;
        }
        let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
        volumes.patch_status(&volume_name, &params, &bound).await?;
        let volume_spec = volume.spec.unwrap_or_default();
        let status = PersistentVolumeClaimStatus {
            phase: Some("Bound".to_string()),
            access_modes: volume_spec.access_modes,
            capacity: volume_spec.capacity,
            ..PersistentVolumeClaimStatus::default()
        };
        let patch = Patch::Merge(json!({"status": status}));
        let written = claims.patch_status(&key.name, &params, &patch).await?;
        self.claims.observe_write(Arc::new(written));
        Ok(())
    }

    /// The volume provisioned for a claim; created if it does not exist.
    async fn provision(
        &self,
        volumes: &Api<PersistentVolume>,
        key: &ObjectKey,
        claim: &PersistentVolumeClaim,
    ) -> Result<PersistentVolume, kube::Error> {
        let uid = claim.uid().unwrap_or_default();
        let name = format!("pvc-{uid}");
        if let Some(known) = volumes.get_opt(&name).await? {
            return Ok(known);
        }
        let spec = claim.spec.clone().unwrap_or_default();
        let size = spec.resources.and_then(|r| r.requests).unwrap_or_default();
        let size: BTreeMap<_, _> = size
            .into_iter()
            .filter(|(what, _)| what == "storage")
            .collect();
        let volume = PersistentVolume {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                annotations: Some(BTreeMap::from([(
                    PROVISIONED_BY_ANNOTATION.to_string(),
                    PROVISIONER_NAME.to_string(),
                )])),
                ..ObjectMeta::default()
            },
            spec: Some(PersistentVolumeSpec {
                access_modes: spec.access_modes,
                capacity: Some(size),
                claim_ref: Some(ObjectReference {
                    api_version: Some("v1".to_string()),
                    kind: Some("PersistentVolumeClaim".to_string()),
                    namespace: Some(key.namespace.clone()),
                    name: Some(key.name.clone()),
                    uid: Some(uid),
                    ..ObjectReference::default()
                }),
                host_path: Some(HostPathVolumeSource {
                    path: format!("/var/lib/kueue-lab/volumes/{name}"),
                    type_: None,
                }),
                persistent_volume_reclaim_policy: Some("Delete".to_string()),
                storage_class_name: spec.storage_class_name,
                volume_mode: spec.volume_mode,
                ..PersistentVolumeSpec::default()
            }),
            status: None,
        };
        volumes.create(&PostParams::default(), &volume).await
    }

    /// Deletes the volumes provisioned for a deleted claim.
    async fn reclaim(&self, key: &ObjectKey) -> Result<(), kube::Error> {
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let all = volumes.list(&Default::default()).await?;
        let made_for = |volume: &&PersistentVolume| {
            let claim = volume.spec.as_ref().and_then(|s| s.claim_ref.as_ref());
            volume
                .annotations()
                .get(PROVISIONED_BY_ANNOTATION)
                .is_some_and(|p| p == PROVISIONER_NAME)
                && claim.is_some_and(|c| {
                    c.name.as_deref() == Some(&key.name)
                        && c.namespace.as_deref() == Some(&key.namespace)
                })
        };
        for volume in all.items.iter().filter(made_for) {
            match volumes
                .delete(&volume.name_any(), &DeleteParams::default())
                .await
            {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
