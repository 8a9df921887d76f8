//! The scheduler's view of ResourceClaims, DeviceClasses and ResourceSlices.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::{AllocationResult, DeviceClass, ResourceClaim, ResourceSlice};
use kube::ResourceExt;
use serde_json::json;

use super::consumable_capacity::SharedDevice;
use super::device_pools::{DeviceId, DevicePools};
use super::extended_resources::{classes_of_extended_resources, is_special_claim_of};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::resource_claims::{
    ClaimNameError, NotOwnerError, allocation, claim_name, is_for_pod, of_pod,
};
use kueue_lab_quantity::Quantity;

/// The latest objects, and the allocations that are being written.
#[derive(Default)]
pub(in super::super) struct DraManager {
    claims: HashMap<ObjectKey, Arc<ResourceClaim>>,
    pub(super) classes: BTreeMap<String, Arc<DeviceClass>>,
    /// The class of each extended resource that pods request without a ResourceClaim.
    pub(super) extended_resources: BTreeMap<String, String>,
    pub(super) pools: DevicePools,
    /// The devices that are in use, with the number of their allocations.
    pub(super) allocated: HashMap<DeviceId, usize>,
    /// The devices that several claims share.
    pub(super) shared: HashMap<DeviceId, SharedDevice>,
    /// Devices of claims, by UID, whose allocation is being written.
    pending_allocations: HashMap<String, Vec<DeviceUse>>,
}

/// Why the claims of a pod cannot be used, with the reason of the filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum PodClaimsError {
    /// The pod has no claim yet.
    #[error(transparent)]
    Name(#[from] ClaimNameError),
    /// The claim with this name does not exist.
    #[error("resourceclaim.resource.k8s.io {0:?} not found")]
    NotFound(String),
    /// The claim with this name is being deleted.
    #[error("resourceclaim {0:?} is being deleted")]
    Deleting(String),
    /// The claim is that of another pod.
    #[error(transparent)]
    NotOwner(#[from] NotOwnerError),
    /// The allocation of the claim is being written.
    #[error("resource claim {0} is in the process of being allocated")]
    Pending(ObjectKey),
    /// The class of a request does not exist.
    #[error("request {request}: device class {class} does not exist")]
    ClassNotFound {
        /// The request.
        request: String,
        /// The class.
        class: String,
    },
}

impl DraManager {
    /// Adds or updates a claim; older versions than the known one are ignored. Returns whether
    /// devices were freed.
    pub(in super::super) fn update_claim(&mut self, claim: Arc<ResourceClaim>) -> bool {
        let key = ObjectKey::of(&*claim);
        let version = |claim: &ResourceClaim| -> Option<u64> {
            claim.metadata.resource_version.as_deref()?.parse().ok()
        };
        let known = self.claims.get(&key);
        let is_older = known.is_some_and(|known| {
            known.metadata.uid == claim.metadata.uid && version(known) > version(&claim)
        });
        if is_older {
            return false;
        }
        self.use_devices(&devices_of(allocation(&claim)));
        let old = self.claims.insert(key, claim.clone());
        let freed = old.as_deref().map(|old| devices_of(allocation(old)));
        self.release_devices(&freed.unwrap_or_default());
        old.is_some_and(|old| allocation(&old).is_some() && allocation(&claim).is_none())
    }

    /// Removes a claim. Returns whether devices were freed.
    pub(in super::super) fn delete_claim(&mut self, key: &ObjectKey) -> bool {
        let Some(old) = self.claims.remove(key) else {
            return false;
        };
        self.release_devices(&devices_of(allocation(&old)));
        allocation(&old).is_some()
    }

    /// Adds, updates or removes a class.
    pub(in super::super) fn update_class(&mut self, name: &str, class: Option<Arc<DeviceClass>>) {
        match class {
            Some(class) => self.classes.insert(name.to_owned(), class),
            None => self.classes.remove(name),
        };
        self.extended_resources = classes_of_extended_resources(&self.classes);
    }

    /// The extended resources that classes back: pods request them without a ResourceClaim.
    pub(in super::super) fn device_resources(&self) -> BTreeSet<String> {
        self.extended_resources.keys().cloned().collect()
    }

    /// The special claim of a pod from an earlier scheduling cycle.
    pub(super) fn special_claim_of(&self, pod: &Pod) -> Option<&Arc<ResourceClaim>> {
        let mut claims = self.claims.values();
        claims.find(|claim| is_special_claim_of(claim, pod))
    }

    /// Adds, updates or removes a slice.
    pub(in super::super) fn update_slice(&mut self, name: &str, slice: Option<Arc<ResourceSlice>>) {
        match slice {
            Some(slice) => self.pools.update(name.to_owned(), slice),
            None => self.pools.remove(name),
        }
    }

    /// Groups slices by pool after changes. To be called before a scheduling cycle.
    pub(in super::super) fn refresh(&mut self) {
        self.pools.refresh();
    }

    /// The claims of a pod, in the order of its spec.
    ///
    /// # Errors
    /// The reason that one of them cannot be used: it does not exist, is being deleted or is that of another
    /// pod.
    pub(in super::super) fn pod_claims(
        &self,
        pod: &Pod,
    ) -> Result<Vec<Arc<ResourceClaim>>, PodClaimsError> {
        let namespace = pod.namespace().unwrap_or_default();
        let mut claims = Vec::new();
        for pod_claim in of_pod(pod) {
            let name = claim_name(pod, pod_claim)?;
            let must_check_owner = name.must_check_owner;
            let Some(name) = name.name else { continue };
            let claim = self.claims.get(&ObjectKey::new(&*namespace, &*name));
            let claim = claim.ok_or_else(|| PodClaimsError::NotFound(name.clone()))?;
            if claim.metadata.deletion_timestamp.is_some() {
                return Err(PodClaimsError::Deleting(name));
            }
            if must_check_owner {
                is_for_pod(pod, claim)?;
            }
            claims.push(claim.clone());
        }
        Ok(claims)
    }

    /// A key that is equal for pods whose claims can be allocated on the same nodes.
    pub(in super::super) fn equivalence_class(&self, pod: &Pod) -> String {
        let Ok(claims) = self.pod_claims(pod) else {
            return ObjectKey::of(pod).to_string();
        };
        let parts = claims.iter().map(|claim| match allocation(claim) {
            None if !self.is_pending(claim) => json!(claim.spec),
            _ => json!(claim.uid()),
        });
        json!(parts.collect::<Vec<_>>()).to_string()
    }

    /// Records that an allocation is being written.
    pub(in super::super) fn signal_pending_allocation(
        &mut self,
        claim: &ResourceClaim,
        allocation: &AllocationResult,
    ) {
        let devices = devices_of(Some(allocation));
        self.use_devices(&devices);
        let uid = claim.uid().unwrap_or_default();
        if let Some(old) = self.pending_allocations.insert(uid, devices) {
            self.release_devices(&old);
        }
    }

    /// Ends [`Self::signal_pending_allocation`], after success or failure.
    pub(in super::super) fn remove_pending_allocation(&mut self, claim: &ResourceClaim) {
        let uid = claim.metadata.uid.as_deref().unwrap_or_default();
        if let Some(devices) = self.pending_allocations.remove(uid) {
            self.release_devices(&devices);
        }
    }

    /// Whether the allocation of a claim is being written.
    pub(super) fn is_pending(&self, claim: &ResourceClaim) -> bool {
        let uid = claim.metadata.uid.as_deref().unwrap_or_default();
        self.pending_allocations.contains_key(uid)
    }

    /// Whether a claim uses a device.
    pub(super) fn is_in_use(&self, device: &DeviceId) -> bool {
        self.allocated.contains_key(device) || self.shared.contains_key(device)
    }

    /// A claim as of its last change.
    pub(in super::super) fn claim(&self, key: &ObjectKey) -> Option<Arc<ResourceClaim>> {
        self.claims.get(key).cloned()
    }

    fn use_devices(&mut self, devices: &[DeviceUse]) {
        for DeviceUse { device, consumed } in devices {
            let Some(consumed) = consumed else {
                *self.allocated.entry(device.clone()).or_default() += 1;
                continue;
            };
            let shared = self.shared.entry(device.clone()).or_default();
            shared.shares += 1;
            for (name, amount) in consumed {
                *shared.consumed.entry(name.clone()).or_default() += *amount;
            }
        }
    }

    fn release_devices(&mut self, devices: &[DeviceUse]) {
        for DeviceUse { device, consumed } in devices {
            if let Some(consumed) = consumed {
                self.release_share(device, consumed);
                continue;
            }
            if let Some(uses) = self.allocated.get_mut(device) {
                *uses -= 1;
                if *uses == 0 {
                    self.allocated.remove(device);
                }
            }
        }
    }

    fn release_share(&mut self, device: &DeviceId, consumed: &BTreeMap<String, Quantity>) {
        let Some(shared) = self.shared.get_mut(device) else {
            return;
        };
        shared.shares -= 1;
        for (name, amount) in consumed {
            if let Some(left) = shared.consumed.get_mut(name) {
                *left -= *amount;
            }
        }
        if shared.shares == 0 {
            self.shared.remove(device);
        }
    }
}

/// A device of an allocation.
struct DeviceUse {
    device: DeviceId,
    /// The part of a shared device; None for a device of one claim.
    consumed: Option<BTreeMap<String, Quantity>>,
}

/// The devices of an allocation that others cannot use, or only in part: those without admin access.
fn devices_of(allocation: Option<&AllocationResult>) -> Vec<DeviceUse> {
    let results = allocation.and_then(|a| a.devices.as_ref()?.results.as_ref());
    let results = results.into_iter().flatten();
    let exclusive = results.filter(|result| result.admin_access != Some(true));
    let devices = exclusive.map(|result| DeviceUse {
        device: DeviceId {
            driver: result.driver.clone(),
            pool: result.pool.clone(),
            device: result.device.clone(),
        },
        consumed: result.share_id.as_ref().map(|_| {
            let consumed = result.consumed_capacity.iter().flatten();
            let parsed = |text: &str| Quantity::parse(text).unwrap_or_default();
            consumed
                .map(|(name, amount)| (name.clone(), parsed(&amount.0)))
                .collect()
        }),
    });
    devices.collect()
}
