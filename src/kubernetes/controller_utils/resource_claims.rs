//! The ResourceClaims of pods, as `k8s.io/dynamic-resource-allocation/resourceclaim` reads them.
//!
//! Must not know the controllers that create, allocate or use them.

use k8s_openapi::api::core::v1::{Pod, PodResourceClaim};
use k8s_openapi::api::resource::v1::{
    AllocationResult, DeviceClass, ResourceClaim, ResourceClaimConsumerReference, ResourceSlice,
};
use kube::ResourceExt;

use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey};

/// The finalizer of allocated claims.
pub const FINALIZER: &str = "resource.kubernetes.io/delete-protection";
const GROUP: &str = "resource.k8s.io";
const VERSION: &str = "v1";
/// The index of claims by the UID of the pod that controls them.
pub const BY_OWNER: &str = "owner";

/// The index of pods by their claims, as `namespace/name`.
pub const BY_CLAIM: &str = "resource-claim";

/// The informers of `resource.k8s.io` that several components share. Clones share them.
#[derive(Clone)]
pub struct ResourceClaimInformers {
    /// All ResourceClaims.
    pub claims: Informer<ResourceClaim>,
    /// All DeviceClasses.
    pub classes: Informer<DeviceClass>,
    /// All ResourceSlices.
    pub slices: Informer<ResourceSlice>,
}

impl ResourceClaimInformers {
    /// Starts the informers, if the cluster serves the kinds.
    pub async fn start(context: &Context) -> Option<Self> {
        let served = context.client.list_api_groups().await.ok()?;
        let mut groups = served.groups.iter().filter(|group| group.name == GROUP);
        if !groups.any(|group| group.versions.iter().any(|v| v.version == VERSION)) {
            return None;
        }
        let claims = Informer::builder(Api::all(context.client.clone())).index(BY_OWNER, owners);
        Some(Self {
            claims: claims.start(context),
            classes: Informer::builder(Api::all(context.client.clone())).start(context),
            slices: Informer::builder(Api::all(context.client.clone())).start(context),
        })
    }

    /// Waits until all informers have listed their objects.
    pub async fn wait_for_cache_sync(&self) {
        self.claims.wait_for_cache_sync().await;
        self.classes.wait_for_cache_sync().await;
        self.slices.wait_for_cache_sync().await;
    }
}

fn owners(claim: &ResourceClaim) -> Vec<String> {
    owning_pod(claim)
        .map(|(_, uid)| uid.to_owned())
        .into_iter()
        .collect()
}

/// `spec.resourceClaims` of a pod.
pub fn of_pod(pod: &Pod) -> &[PodResourceClaim] {
    let spec = pod.spec.as_ref();
    spec.and_then(|s| s.resource_claims.as_deref())
        .unwrap_or_default()
}

/// The name of a claim of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimName {
    /// The name; `None` if no claim is needed.
    pub name: Option<String>,
    /// Whether the claim has to be controlled by the pod.
    pub must_check_owner: bool,
}

/// The reason that a pod has no claim yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimNameError {
    /// No claim was created from the template.
    #[error("pod \"{0}\": ResourceClaim not created yet")]
    NotCreated(ObjectKey),
    /// Neither a name nor a template is set.
    #[error("pod \"{0}\", spec.resourceClaim {1:?}: none of the supported fields are set")]
    Unsupported(ObjectKey, String),
}

/// The name of the claim for an entry of `spec.resourceClaims`.
///
/// # Errors
/// When no claim was created from the template yet, or the entry has neither of the fields.
pub fn claim_name(pod: &Pod, pod_claim: &PodResourceClaim) -> Result<ClaimName, ClaimNameError> {
    if let Some(name) = &pod_claim.resource_claim_name {
        let name = Some(name.clone());
        return Ok(ClaimName {
            name,
            must_check_owner: false,
        });
    }
    if pod_claim.resource_claim_template_name.is_none() {
        let name = pod_claim.name.clone();
        return Err(ClaimNameError::Unsupported(ObjectKey::of(pod), name));
    }
    let statuses = pod.status.as_ref();
    let mut statuses = statuses
        .and_then(|s| s.resource_claim_statuses.as_ref())
        .into_iter()
        .flatten();
    let created = statuses.find(|status| status.name == pod_claim.name);
    let created = created.ok_or_else(|| ClaimNameError::NotCreated(ObjectKey::of(pod)))?;
    Ok(ClaimName {
        name: created.resource_claim_name.clone(),
        must_check_owner: true,
    })
}

/// The special claim that the scheduler created for the extended resources of a pod.
pub fn special_claim_name(pod: &Pod) -> Option<&str> {
    let status = pod.status.as_ref()?.extended_resource_claim_status.as_ref();
    status.map(|status| &*status.resource_claim_name)
}

/// Whether a pod has claims.
pub fn has_claims(pod: &Pod) -> bool {
    !of_pod(pod).is_empty() || special_claim_name(pod).is_some()
}

/// The claims of a pod that exist or have to be created by a user, as `namespace/name`.
pub fn names_of_pod(pod: &Pod) -> Vec<String> {
    let namespace = pod.namespace().unwrap_or_default();
    let names = of_pod(pod).iter();
    let names = names.filter_map(|pod_claim| claim_name(pod, pod_claim).ok()?.name);
    let special = special_claim_name(pod).map(str::to_owned);
    let names = names.chain(special);
    names.map(|name| format!("{namespace}/{name}")).collect()
}

/// The name and UID of the pod that controls a claim.
pub fn owning_pod(claim: &ResourceClaim) -> Option<(&str, &str)> {
    let owners = claim.metadata.owner_references.as_deref()?;
    let mut owners = owners.iter().filter(|o| o.controller == Some(true));
    let owner = owners.find(|o| o.api_version == "v1" && o.kind == "Pod")?;
    Some((&owner.name, &owner.uid))
}

/// A claim that was created for another pod.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ResourceClaim {claim} was not created for Pod {pod} (Pod is not owner)")]
pub struct NotOwnerError {
    /// The claim.
    claim: ObjectKey,
    /// The pod.
    pod: ObjectKey,
}

/// Checks that a claim was created for a pod.
///
/// # Errors
/// When the pod does not control the claim.
pub fn is_for_pod(pod: &Pod, claim: &ResourceClaim) -> Result<(), NotOwnerError> {
    let uid = pod.metadata.uid.as_deref();
    if owning_pod(claim).is_some_and(|(_, owner)| Some(owner) == uid) {
        return Ok(());
    }
    let (claim, pod) = (ObjectKey::of(claim), ObjectKey::of(pod));
    Err(NotOwnerError { claim, pod })
}

/// The allocation of a claim.
pub fn allocation(claim: &ResourceClaim) -> Option<&AllocationResult> {
    claim.status.as_ref()?.allocation.as_ref()
}

/// The consumers of a claim.
pub fn reserved_for(claim: &ResourceClaim) -> &[ResourceClaimConsumerReference] {
    let status = claim.status.as_ref();
    status
        .and_then(|s| s.reserved_for.as_deref())
        .unwrap_or_default()
}

/// Whether a claim is reserved for a pod.
pub fn is_reserved_for_pod(pod: &Pod, claim: &ResourceClaim) -> bool {
    let uid = pod.metadata.uid.as_deref();
    reserved_for(claim).iter().any(|r| Some(&*r.uid) == uid)
}

/// The entry of `status.reservedFor` for a pod.
pub fn consumer_reference(pod: &Pod) -> ResourceClaimConsumerReference {
    ResourceClaimConsumerReference {
        api_group: None,
        name: pod.name_any(),
        resource: "pods".to_owned(),
        uid: pod.uid().unwrap_or_default(),
    }
}

/// Why a kubelet cannot start a pod, with its message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPreparedError {
    /// The pod has no claim yet.
    #[error(transparent)]
    Name(#[from] ClaimNameError),
    /// The claim does not exist.
    #[error(
        "failed to fetch ResourceClaim {claim} referenced by pod {pod}: resourceclaims.resource.k8s.io {claim:?} not found"
    )]
    NotFound {
        /// The name of the claim.
        claim: String,
        /// The name of the pod.
        pod: String,
    },
    /// The claim with this name is not allocated.
    #[error("ResourceClaim {0} is not allocated")]
    NotAllocated(String),
    /// The claim is not reserved for the pod.
    #[error("pod {pod}({uid}) is not allowed to use ResourceClaim {claim}")]
    NotReserved {
        /// The name of the claim.
        claim: String,
        /// The name of the pod.
        pod: String,
        /// The UID of the pod.
        uid: String,
    },
}

/// Checks that a kubelet can start a pod: all its claims are allocated and reserved for it.
///
/// # Errors
/// The first claim that is not.
pub fn are_prepared(pod: &Pod, claims: &Informer<ResourceClaim>) -> Result<(), NotPreparedError> {
    let namespace = pod.namespace().unwrap_or_default();
    let named = of_pod(pod).iter().map(|pod_claim| {
        let name = claim_name(pod, pod_claim)?;
        Ok::<_, NotPreparedError>(name.name)
    });
    let special = special_claim_name(pod).map(|name| Ok(Some(name.to_owned())));
    for name in named.chain(special) {
        let Some(name) = name? else { continue };
        let key = ObjectKey::new(&*namespace, name);
        let Some(claim) = claims.get(&key) else {
            return Err(NotPreparedError::NotFound {
                claim: key.name,
                pod: pod.name_any(),
            });
        };
        if allocation(&claim).is_none() {
            return Err(NotPreparedError::NotAllocated(key.name));
        }
        if !is_reserved_for_pod(pod, &claim) {
            return Err(NotPreparedError::NotReserved {
                claim: key.name,
                pod: pod.name_any(),
                uid: pod.uid().unwrap_or_default(),
            });
        }
    }
    Ok(())
}
