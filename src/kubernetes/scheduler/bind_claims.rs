//! Writes allocations and reservations of claims before their pod is bound.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ContainerExtendedResourceRequest, Pod};
use k8s_openapi::api::resource::v1::{AllocationResult, ResourceClaim};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::PodInfo;
use super::dynamic_resources::{ClaimToBind, is_special_claim};
use super::run::Scheduler;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{Api, ObjectKey};
use kueue_lab_controller_utils::resource_claims::{
    FINALIZER, allocation, consumer_reference, is_reserved_for_pod,
};

/// How often a write is repeated after conflicts.
const RETRIES: usize = 5;

/// Why the claims of a pod are not bound.
#[derive(Debug, thiserror::Error)]
pub(super) enum BindClaimsError {
    /// The special claim is not created.
    #[error("create claim for extended resources {pod}: {source}")]
    Create {
        /// The pod.
        pod: ObjectKey,
        /// Why.
        source: Box<kube::Error>,
    },
    /// The special claim is not written to the status of the pod.
    #[error("update pod {pod} ExtendedResourceClaimStatus: {source}")]
    Mappings {
        /// The pod.
        pod: ObjectKey,
        /// Why.
        source: Box<kube::Error>,
    },
    /// A claim is not read again after a conflict.
    #[error("get updated claim {claim} after conflict: {source}")]
    Get {
        /// The claim.
        claim: ObjectKey,
        /// Why.
        source: Box<kube::Error>,
    },
    /// A claim is not written.
    #[error("add {what} to claim {claim}: {source}")]
    Write {
        /// What is written.
        what: &'static str,
        /// The claim.
        claim: ObjectKey,
        /// Why.
        source: Box<kube::Error>,
    },
    /// A claim has changed.
    #[error("claim {claim} {change}")]
    Changed {
        /// The claim.
        claim: ObjectKey,
        /// What has happened to it.
        change: &'static str,
    },
    /// A device has a failure condition.
    #[error("claim {claim} binding failed: reason={reason}, message={message:?}")]
    BindingFailed {
        /// The claim.
        claim: ObjectKey,
        /// The reason of the condition.
        reason: String,
        /// The message of the condition.
        message: String,
    },
    /// The devices are not ready in time.
    #[error("device binding timeout")]
    BindingTimeout,
}

impl Scheduler {
    /// Allocates and reserves the claims of a pod, and waits until their devices are ready.
    ///
    /// # Errors
    /// The first write that failed.
    pub(super) async fn bind_claims(
        &self,
        pod: &PodInfo,
        claims: &[ClaimToBind],
        node: &str,
    ) -> Result<(), BindClaimsError> {
        let mut outcome = Ok(());
        let mut bound = Vec::with_capacity(claims.len());
        for to_bind in claims {
            if outcome.is_ok() {
                let key = self.bind_claim(pod, to_bind).await;
                outcome = key.map(|key| bound.push(key));
            }
            let mut state = self.state.lock();
            state.remove_pending_allocation(&to_bind.claim);
        }
        outcome?;
        self.wait_for_binding_conditions(pod, &bound, node).await
    }

    fn claims(&self, namespace: &str) -> Api<ResourceClaim> {
        Api::namespaced(self.context.client.clone(), namespace)
    }

    /// Binds a claim, and creates it if it is the special claim. Returns its key.
    async fn bind_claim(
        &self,
        pod: &PodInfo,
        to_bind: &ClaimToBind,
    ) -> Result<ObjectKey, BindClaimsError> {
        let Some(mappings) = &to_bind.mappings else {
            let claim = ResourceClaim::clone(&to_bind.claim);
            let key = ObjectKey::of(&claim);
            self.allocate_and_reserve(pod, claim, to_bind).await?;
            return Ok(key);
        };
        let mut claim = ResourceClaim::clone(&to_bind.claim);
        claim.metadata.name = None;
        claim.metadata.uid = None;
        let api = self.claims(&pod.key.namespace);
        let created = api.create(&PostParams::default(), &claim).await;
        let created = created.map_err(|source| BindClaimsError::Create {
            pod: pod.key.clone(),
            source: Box::new(source),
        })?;
        let key = ObjectKey::of(&created);
        let mut outcome = self
            .allocate_and_reserve(pod, created.clone(), to_bind)
            .await;
        if outcome.is_ok() {
            outcome = self.write_mappings(pod, &key.name, mappings).await;
        }
        if outcome.is_err() {
            self.delete_special_claim(created).await;
        }
        outcome.map(|()| key)
    }

    /// Names the special claim in the status of its pod.
    async fn write_mappings(
        &self,
        pod: &PodInfo,
        claim: &str,
        mappings: &[ContainerExtendedResourceRequest],
    ) -> Result<(), BindClaimsError> {
        let ObjectKey { namespace, name } = &pod.key;
        let status = json!({"resourceClaimName": claim, "requestMappings": mappings});
        let patch = json!({
            "metadata": {"uid": pod.uid()},
            "status": {"extendedResourceClaimStatus": status},
        });
        let api: Api<Pod> = Api::namespaced(self.context.client.clone(), namespace);
        let (params, patch) = (PatchParams::default(), Patch::Strategic(&patch));
        let patched = api.patch_status(name, &params, &patch).await;
        patched
            .map(drop)
            .map_err(|source| BindClaimsError::Mappings {
                pod: pod.key.clone(),
                source: Box::new(source),
            })
    }

    async fn delete_special_claim(&self, claim: ResourceClaim) {
        let key = ObjectKey::of(&claim);
        let api = self.claims(&key.namespace);
        let mut claim = Ok(claim);
        for _ in 0..=RETRIES {
            let Ok(mut current) = claim else { break };
            current.finalizers_mut().retain(|f| f != FINALIZER);
            match api
                .replace(&key.name, &PostParams::default(), &current)
                .await
            {
                Err(error) if is_conflict(&error) => claim = api.get(&key.name).await,
                _ => break,
            }
        }
        let deleted = api.delete(&key.name, &DeleteParams::default()).await;
        if let Err(error) = deleted
            && !is_not_found(&error)
        {
            tracing::debug!(claim = key.name, %error, "a special claim was not deleted");
        }
    }

    async fn allocate_and_reserve(
        &self,
        pod: &PodInfo,
        mut claim: ResourceClaim,
        to_bind: &ClaimToBind,
    ) -> Result<(), BindClaimsError> {
        let key = ObjectKey::of(&claim);
        let api = self.claims(&key.namespace);
        for attempt in 0..=RETRIES {
            if attempt > 0 {
                claim = api.get(&key.name).await.map_err(|source| {
                    let claim = key.clone();
                    BindClaimsError::Get {
                        claim,
                        source: Box::new(source),
                    }
                })?;
            }
            match self.write_claim(&api, &mut claim, pod, to_bind).await {
                Ok(()) => {
                    self.state.lock().update_claim(Arc::new(claim));
                    return Ok(());
                }
                Err(BindError::Write(error)) if is_conflict(&error) && attempt < RETRIES => {}
                Err(BindError::Write(source)) => {
                    let what = match to_bind.allocation {
                        Some(_) => "allocation and reservation",
                        None => "reservation",
                    };
                    return Err(BindClaimsError::Write {
                        what,
                        claim: key,
                        source: Box::new(source),
                    });
                }
                Err(BindError::Claim(change)) => {
                    return Err(BindClaimsError::Changed { claim: key, change });
                }
            }
        }
        Ok(())
    }

    async fn write_claim(
        &self,
        api: &Api<ResourceClaim>,
        claim: &mut ResourceClaim,
        pod: &PodInfo,
        to_bind: &ClaimToBind,
    ) -> Result<(), BindError> {
        let name = claim.name_any();
        let params = PostParams::default();
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(BindError::Claim("got deleted in the meantime"));
        }
        if to_bind.allocation.is_some() {
            if allocation(claim).is_some() {
                return Err(BindError::Claim("got allocated elsewhere in the meantime"));
            }
            if !claim.finalizers().iter().any(|f| f == FINALIZER) {
                claim.finalizers_mut().push(FINALIZER.to_owned());
                *claim = api.replace(&name, &params, claim).await?;
            }
        }
        if is_reserved_for_pod(&pod.pod, claim) {
            return Ok(());
        }
        let status = claim.status.get_or_insert_default();
        if to_bind.allocation.is_some() {
            status.allocation = to_bind.allocation.clone();
            self.set_share_ids(status.allocation.as_mut());
        }
        let reserved = status.reserved_for.get_or_insert_default();
        reserved.push(consumer_reference(&pod.pod));
        *claim = api.replace_status(&name, &params, claim).await?;
        Ok(())
    }

    /// Gives each share of a device that several claims use an ID.
    fn set_share_ids(&self, allocation: Option<&mut AllocationResult>) {
        let devices = allocation.and_then(|allocation| allocation.devices.as_mut());
        let results = devices.and_then(|devices| devices.results.as_mut());
        for share in results.into_iter().flatten() {
            if let Some(id) = &mut share.share_id {
                *id = self.context.entropy.uid();
            }
        }
    }

    /// Removes the allocation of a claim that no pod uses; a special claim is deleted.
    pub(super) async fn deallocate_claim(&self, claim: Arc<ResourceClaim>) {
        if is_special_claim(&claim) {
            self.delete_special_claim(ResourceClaim::clone(&claim))
                .await;
            return;
        }
        let api = self.claims(&claim.namespace().unwrap_or_default());
        let mut deallocated = ResourceClaim::clone(&claim);
        if let Some(status) = &mut deallocated.status {
            status.allocation = None;
            status.reserved_for = None;
        }
        let params = PostParams::default();
        let name = claim.name_any();
        if let Err(error) = api.replace_status(&name, &params, &deallocated).await {
            tracing::debug!(claim = name, %error, "a claim was not deallocated");
        }
    }
}

enum BindError {
    Write(kube::Error),
    Claim(&'static str),
}

impl From<kube::Error> for BindError {
    fn from(error: kube::Error) -> Self {
        Self::Write(error)
    }
}
