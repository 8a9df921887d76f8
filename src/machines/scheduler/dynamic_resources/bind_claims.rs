//! Writes allocations and reservations of claims before their pod is bound.

use std::sync::Arc;

use k8s_openapi::api::resource::v1::{AllocationResult, ResourceClaim};
use kube::ResourceExt;
use kube::api::PostParams;

use super::super::PodInfo;
use super::super::scheduling_loop::Scheduler;
use crate::resource_claims::{FINALIZER, allocation, consumer_reference, is_reserved_for_pod};
use kueue_lab_runtime::api_errors::is_conflict;
use kueue_lab_runtime::{Api, ObjectKey};

/// How often a write is repeated after conflicts.
const RETRIES: usize = 5;

/// A claim to reserve for a pod.
#[derive(Clone, Debug)]
pub(in super::super) struct ClaimToBind {
    /// The claim as of the scheduling cycle.
    pub claim: Arc<ResourceClaim>,
    /// Its allocation, if it has none yet.
    pub allocation: Option<AllocationResult>,
}

impl Scheduler {
    /// Allocates and reserves the claims of a pod, and waits until their devices are ready.
    ///
    /// # Errors
    /// The message of the first write that failed.
    pub(in super::super) async fn bind_claims(
        &self,
        pod: &PodInfo,
        claims: &[ClaimToBind],
        node: &str,
    ) -> Result<(), String> {
        let mut outcome = Ok(());
        for to_bind in claims {
            if outcome.is_ok() {
                outcome = self.bind_claim(pod, to_bind).await;
            }
            let mut state = self.state.lock();
            state.remove_pending_allocation(&to_bind.claim);
        }
        outcome?;
        self.wait_for_binding_conditions(pod, claims, node).await
    }

    async fn bind_claim(&self, pod: &PodInfo, to_bind: &ClaimToBind) -> Result<(), String> {
        let key = ObjectKey::of(&*to_bind.claim);
        let api: Api<ResourceClaim> = Api::namespaced(self.context.client.clone(), &key.namespace);
        let mut claim = ResourceClaim::clone(&to_bind.claim);
        for attempt in 0..=RETRIES {
            if attempt > 0 {
                claim = api
                    .get(&key.name)
                    .await
                    .map_err(|error| format!("get updated claim {key} after conflict: {error}"))?;
            }
            match self.write_claim(&api, &mut claim, pod, to_bind).await {
                Ok(()) => {
                    self.state.lock().update_claim(Arc::new(claim));
                    return Ok(());
                }
                Err(BindError::Write(error)) if is_conflict(&error) && attempt < RETRIES => {}
                Err(BindError::Write(error)) => {
                    let what = match to_bind.allocation {
                        Some(_) => "allocation and reservation",
                        None => "reservation",
                    };
                    return Err(format!("add {what} to claim {key}: {error}"));
                }
                Err(BindError::Claim(text)) => return Err(format!("claim {key} {text}")),
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

    /// Removes the allocation of a claim that no pod uses.
    pub(in super::super) async fn deallocate_claim(&self, claim: Arc<ResourceClaim>) {
        let namespace = claim.namespace().unwrap_or_default();
        let api: Api<ResourceClaim> = Api::namespaced(self.context.client.clone(), &namespace);
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
