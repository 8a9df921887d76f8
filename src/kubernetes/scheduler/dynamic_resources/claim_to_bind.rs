//! A claim of a pod that is to be bound.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ContainerExtendedResourceRequest;
use k8s_openapi::api::resource::v1::{AllocationResult, ResourceClaim};

/// A claim to reserve for a pod.
#[derive(Clone, Debug)]
pub(in super::super) struct ClaimToBind {
    /// The claim as of the scheduling cycle.
    pub claim: Arc<ResourceClaim>,
    /// Its allocation, if it has none yet.
    pub allocation: Option<AllocationResult>,
    /// The containers of its requests, if it is the special claim for extended resources, which is created
    /// with its allocation.
    pub mappings: Option<Vec<ContainerExtendedResourceRequest>>,
}
