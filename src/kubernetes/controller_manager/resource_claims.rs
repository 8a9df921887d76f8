//! The resourceclaim controller: creates ResourceClaims of templates for pods, and releases claims of
//! pods that ended.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodResourceClaim};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::claim_of_template::{POD_CLAIM_NAME, claim_of_template};
use kueue_lab_controller_runtime::api_errors::{error_message, is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods::{is_terminal, node_of};
use kueue_lab_controller_utils::resource_claims::{
    BY_CLAIM, BY_OWNER, ClaimNameError, FINALIZER, NotOwnerError, allocation, claim_name,
    consumer_reference, has_claims, is_for_pod, is_reserved_for_pod, of_pod, owning_pod,
    reserved_for, special_claim_name,
};

const WORKERS: usize = 10;
const FIELD_MANAGER: &str = "ResourceClaimController";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Pod(ObjectKey),
    Claim(ObjectKey),
}

struct ResourceClaimController {
    context: Context,
    pods: Informer<Pod>,
    claims: Informer<ResourceClaim>,
    templates: Informer<ResourceClaimTemplate>,
    recorder: EventRecorder,
    queue: WorkQueue<Key>,
}

/// Starts the controller in the tasks of `context`.
pub fn start(context: &Context, pods: &Informer<Pod>, claims: &Informer<ResourceClaim>) {
    let controller = Arc::new(ResourceClaimController {
        context: context.clone(),
        pods: pods.clone(),
        claims: claims.clone(),
        templates: Informer::builder(Api::all(context.client.clone())).start(context),
        recorder: EventRecorder::new(context, "resource_claim"),
        queue: WorkQueue::new(context),
    });
    let handler = controller.clone();
    pods.add_event_handler(move |change| {
        let deleted = matches!(change, Change::Deleted(_));
        handler.enqueue_pod(change.object(), deleted);
    });
    let handler = controller.clone();
    claims.add_event_handler(move |change| handler.enqueue_claim(change));
    let run = context.clone();
    context.tasks.spawn("resource-claims", async move {
        controller.pods.wait_for_cache_sync().await;
        controller.claims.wait_for_cache_sync().await;
        controller.templates.wait_for_cache_sync().await;
        let queue = controller.queue.clone();
        queue.run(&run, "resource-claims", WORKERS, move |key| {
            let controller = controller.clone();
            async move {
                match key {
                    Key::Pod(key) => controller.sync_pod(&key).await,
                    Key::Claim(key) => controller.sync_claim(&key).await,
                }
            }
        });
    });
}

/// The error of the incomplete processing of a pod.
#[derive(Debug, thiserror::Error)]
enum SyncError {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Name(#[from] ClaimNameError),
    #[error(transparent)]
    NotOwner(#[from] NotOwnerError),
    #[error("{0}")]
    Claim(String),
}

type SyncResult = Result<ReconcileResult, SyncError>;

impl ResourceClaimController {
    fn enqueue_pod(&self, pod: &Pod, deleted: bool) {
        if !has_claims(pod) {
            return;
        }
        let key = ObjectKey::of(pod);
        if deleted || is_done(pod) {
            let pod_claims = of_pod(pod).iter();
            let names = pod_claims.filter_map(|claim| claim_name(pod, claim).ok()?.name);
            for name in names.chain(special_claim_name(pod).map(str::to_owned)) {
                let claim = ObjectKey::new(&*key.namespace, name);
                self.queue.add(Key::Claim(claim));
            }
        } else if pod.metadata.deletion_timestamp.is_none() && self.needs_work(pod) {
            self.queue.add(Key::Pod(key));
        }
    }

    /// Whether claims have to be created or reserved for a pod.
    fn needs_work(&self, pod: &Pod) -> bool {
        let namespace = pod.namespace().unwrap_or_default();
        for pod_claim in of_pod(pod) {
            let Ok(name) = claim_name(pod, pod_claim) else {
                return true;
            };
            let Some(claim_name) = name.name else {
                return false;
            };
            let Some(claim) = self.claims.get(&ObjectKey::new(&*namespace, claim_name)) else {
                return pod_claim.resource_claim_template_name.is_some();
            };
            if name.must_check_owner && is_for_pod(pod, &claim).is_err() {
                return false;
            }
            if node_of(pod).is_some()
                && allocation(&claim).is_some()
                && !is_reserved_for_pod(pod, &claim)
            {
                return true;
            }
        }
        false
    }

    fn enqueue_claim(&self, change: &Change<ResourceClaim>) {
        let claim = change.object();
        let key = ObjectKey::of(&**claim);
        if !matches!(change, Change::Deleted(_)) {
            self.queue.add(Key::Claim(key.clone()));
        }
        for pod in self.pods.by_index(BY_CLAIM, &key.to_string()) {
            self.enqueue_pod(&pod, false);
        }
    }

    async fn sync_pod(&self, key: &ObjectKey) -> SyncResult {
        let Some(pod) = self.pods.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        if is_done(&pod) || pod.metadata.deletion_timestamp.is_some() {
            return Ok(ReconcileResult::Done);
        }
        let mut created = Vec::new();
        for pod_claim in of_pod(&pod) {
            match self.handle_claim(&pod, pod_claim).await {
                Ok(Some(claim)) => {
                    let name = &pod_claim.name;
                    created.push(json!({"name": name, "resourceClaimName": claim}));
                }
                Ok(None) => {}
                Err(error) => {
                    let message = format!("PodResourceClaim {}: {error}", pod_claim.name);
                    let event = NewEvent::warning("FailedResourceClaimCreation", message);
                    self.recorder.event(&*pod, event);
                    return Err(error);
                }
            }
        }
        if !created.is_empty() {
            let patch = json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": key.name, "namespace": key.namespace, "uid": pod.uid()},
                "status": {"resourceClaimStatuses": created},
            });
            let api: Api<Pod> = Api::namespaced(self.context.client.clone(), &key.namespace);
            let params = PatchParams::apply(FIELD_MANAGER).force();
            match api
                .patch_status(&key.name, &params, &Patch::Apply(&patch))
                .await
            {
                Ok(patched) => self.pods.observe_write(Arc::new(patched)),
                // The pod was deleted or replaced: the watch delivers it again.
                Err(error) if is_not_found(&error) || is_conflict(&error) => {
                    return Ok(ReconcileResult::Done);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if node_of(&pod).is_some() {
            self.reserve_claims(key).await?;
        }
        Ok(ReconcileResult::Done)
    }

    /// Reserves allocated claims for a pod that was not bound by the scheduler.
    async fn reserve_claims(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let Some(pod) = self.pods.get(key) else {
            return Ok(());
        };
        for pod_claim in of_pod(&pod) {
            let name = claim_name(&pod, pod_claim)?;
            let Some(claim) = name.name else { continue };
            let Some(claim) = self.claims.get(&ObjectKey::new(&*key.namespace, claim)) else {
                return Ok(());
            };
            if name.must_check_owner {
                is_for_pod(&pod, &claim)?;
            }
            if allocation(&claim).is_some() && !is_reserved_for_pod(&pod, &claim) {
                let mut claim = ResourceClaim::clone(&claim);
                let status = claim.status.get_or_insert_default();
                let reserved = status.reserved_for.get_or_insert_default();
                reserved.push(consumer_reference(&pod));
                self.write_status(&claim).await?;
            }
        }
        Ok(())
    }

    /// Creates the claim of an entry of a pod. Returns its name if the pod's status lacks it.
    async fn handle_claim(
        &self,
        pod: &Pod,
        pod_claim: &PodResourceClaim,
    ) -> Result<Option<String>, SyncError> {
        let namespace = pod.namespace().unwrap_or_default();
        match claim_name(pod, pod_claim) {
            Err(ClaimNameError::NotCreated(_)) => {}
            Err(error) => {
                return Err(SyncError::Claim(format!(
                    "checking for claim before creating it: {error}"
                )));
            }
            Ok(name) => {
                let Some(claim) = name.name else {
                    return Ok(None);
                };
                let claim = self.claims.get(&ObjectKey::new(&*namespace, claim));
                let is_right = |claim: &Arc<ResourceClaim>| {
                    !name.must_check_owner || is_for_pod(pod, claim).is_ok()
                };
                if claim.as_ref().is_some_and(is_right) {
                    return Ok(None);
                }
            }
        }
        let Some(template) = &pod_claim.resource_claim_template_name else {
            return Ok(None);
        };
        let uid = pod.uid().unwrap_or_default();
        let orphan = self
            .claims
            .by_index(BY_OWNER, &uid)
            .into_iter()
            .find(|claim| {
                let name = claim.annotations().get(POD_CLAIM_NAME);
                name == Some(&pod_claim.name)
            });
        if let Some(orphan) = orphan {
            return Ok(Some(orphan.name_any()));
        }
        let key = ObjectKey::new(&*namespace, &**template);
        let Some(template) = self.templates.get(&key) else {
            return Err(SyncError::Claim(format!(
                "resource claim template {template:?}: resourceclaimtemplate.resource.k8s.io {template:?} not found"
            )));
        };
        let claim = claim_of_template(pod, pod_claim, &template);
        let api: Api<ResourceClaim> = Api::namespaced(self.context.client.clone(), &namespace);
        let created = api.create(&PostParams::default(), &claim).await;
        let created = created.map_err(|error| {
            SyncError::Claim(format!("create ResourceClaim : {}", error_message(&error)))
        })?;
        let name = created.name_any();
        self.claims.observe_write(Arc::new(created));
        Ok(Some(name))
    }

    /// Removes the reservations of pods that ended, deallocates a claim without any, and deletes
    /// the claim of a pod that ended.
    async fn sync_claim(&self, key: &ObjectKey) -> SyncResult {
        let Some(claim) = self.claims.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let before = reserved_for(&claim);
        let mut valid = Vec::with_capacity(before.len());
        for consumer in before {
            let group = consumer.api_group.as_deref().unwrap_or_default();
            if !group.is_empty() || consumer.resource != "pods" {
                return Err(SyncError::Claim(format!(
                    "unsupported ReservedFor entry: {consumer:?}"
                )));
            }
            if self
                .uses_claim(&key.namespace, &consumer.name, &consumer.uid)
                .await?
            {
                valid.push(consumer.clone());
            }
        }
        let is_unused = valid.is_empty();
        let is_deleted = claim.metadata.deletion_timestamp.is_some();
        let has_finalizer = claim.finalizers().iter().any(|f| f == FINALIZER);
        let mut current = ResourceClaim::clone(&claim);
        let releases = valid.len() < before.len();
        let deletes = has_finalizer && is_deleted && is_unused;
        if releases || (deletes && allocation(&claim).is_some()) {
            let status = current.status.get_or_insert_default();
            status.reserved_for = (!is_unused).then_some(valid);
            if is_unused && has_finalizer {
                status.allocation = None;
            }
            current = self.write_status(&current).await?;
        }
        if has_finalizer && (releases || deletes) && allocation(&current).is_none() {
            current.finalizers_mut().retain(|f| f != FINALIZER);
            let replaced = self
                .api(&key.namespace)
                .replace(&key.name, &PostParams::default(), &current)
                .await?;
            // The API server deletes the claim with its last finalizer.
            if !is_deleted {
                self.claims.observe_write(Arc::new(replaced));
            }
        }
        if is_unused && !is_deleted {
            self.delete_unused(key, &claim).await?;
        }
        Ok(ReconcileResult::Done)
    }

    /// Deletes a claim that was generated for a pod that ended. The garbage collector deletes those
    /// of pods that do not exist.
    async fn delete_unused(&self, key: &ObjectKey, claim: &ResourceClaim) -> kube::Result<()> {
        let Some((name, uid)) = owning_pod(claim) else {
            return Ok(());
        };
        let Some(pod) = self.pods.get(&ObjectKey::new(&*key.namespace, name)) else {
            return Ok(());
        };
        if pod.metadata.uid.as_deref() == Some(uid) && !is_done(&pod) {
            return Ok(());
        }
        let params = DeleteParams::default();
        match self.api(&key.namespace).delete(&key.name, &params).await {
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a consumer still exists and may run.
    async fn uses_claim(&self, namespace: &str, name: &str, uid: &str) -> kube::Result<bool> {
        let is_same = |pod: &Pod| pod.metadata.uid.as_deref() == Some(uid);
        if let Some(pod) = self.pods.get(&ObjectKey::new(namespace, name)) {
            return Ok(is_same(&pod) && !is_done(&pod));
        }
        // The watch may not have delivered the pod yet.
        let api: Api<Pod> = Api::namespaced(self.context.client.clone(), namespace);
        let pod = api.get_opt(name).await?;
        Ok(pod.is_some_and(|pod| is_same(&pod)))
    }

    async fn write_status(&self, claim: &ResourceClaim) -> kube::Result<ResourceClaim> {
        let api = self.api(&claim.namespace().unwrap_or_default());
        let params = PostParams::default();
        let written = api
            .replace_status(&claim.name_any(), &params, claim)
            .await?;
        self.claims.observe_write(Arc::new(written.clone()));
        Ok(written)
    }

    fn api(&self, namespace: &str) -> Api<ResourceClaim> {
        Api::namespaced(self.context.client.clone(), namespace)
    }
}

/// Whether no container of a pod runs or will run.
fn is_done(pod: &Pod) -> bool {
    is_terminal(pod) || (pod.metadata.deletion_timestamp.is_some() && node_of(pod).is_none())
}
