//! The claims of one pod during a scheduling cycle, and their allocations on each node.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ContainerExtendedResourceRequest;
use k8s_openapi::api::resource::v1::{AllocationResult, ResourceClaim};

use super::super::{NodeInfo, PodInfo};
use super::allocator::allocate;
use super::device_pools::selector_matches;
use super::dra_manager::PodClaimsError;
use super::extended_resources::{ExtendedRequests, special_claim};
use super::{ClaimToBind, DraManager};
use kueue_lab_controller_utils::resource_claims::{allocation, is_reserved_for_pod, reserved_for};

/// The reason that a node is infeasible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum ClaimFailure {
    /// The reason of the filter.
    Unschedulable(&'static str),
    /// An error that ends the scheduling cycle.
    Error(String),
}

/// The special claim for the extended resources of a pod.
enum SpecialClaim {
    /// None is needed.
    None,
    /// Each node gets its own requests.
    ForNode(Arc<ResourceClaim>),
    /// It is left from an earlier attempt, and has to be deleted first.
    Stale(Arc<ResourceClaim>),
}

/// The allocations on a node.
struct NodeAllocation {
    allocations: Vec<AllocationResult>,
    /// The special claim, whose allocation is the last one.
    special: Option<(Arc<ResourceClaim>, Vec<ContainerExtendedResourceRequest>)>,
}

/// The pre-filter state of a pod with claims.
pub(in super::super) struct NodeAllocations<'a> {
    dra: &'a DraManager,
    pod: &'a PodInfo,
    claims: Vec<Arc<ResourceClaim>>,
    to_allocate: Vec<Arc<ResourceClaim>>,
    special: SpecialClaim,
    by_node: RefCell<HashMap<String, NodeAllocation>>,
    /// The index of an allocated claim that was not available on a node.
    unavailable: Cell<Option<usize>>,
}

impl<'a> NodeAllocations<'a> {
    /// The state of a pod, `None` if it needs no claims.
    ///
    /// # Errors
    /// The reason that the pod is unschedulable on all nodes.
    pub(in super::super) fn pre_filter(
        dra: &'a DraManager,
        pod: &'a PodInfo,
    ) -> Result<Option<Self>, PodClaimsError> {
        let claims = dra.pod_claims(&pod.pod)?;
        let special = match pod.device_resources.is_empty() {
            true => SpecialClaim::None,
            false => match dra.special_claim_of(&pod.pod) {
                Some(stale) => SpecialClaim::Stale(stale.clone()),
                None => SpecialClaim::ForNode(Arc::new(special_claim(&pod.pod))),
            },
        };
        if claims.is_empty() && matches!(special, SpecialClaim::None) {
            return Ok(None);
        }
        let mut to_allocate = Vec::new();
        for claim in claims.iter().filter(|claim| allocation(claim).is_none()) {
            if dra.is_pending(claim) {
                let key = kueue_lab_controller_runtime::ObjectKey::of(&**claim);
                return Err(PodClaimsError::Pending(key));
            }
            let devices = claim.spec.devices.as_ref();
            for request in devices
                .and_then(|d| d.requests.as_ref())
                .into_iter()
                .flatten()
            {
                let exactly = request.exactly.iter();
                let exactly = exactly.map(|e| (request.name.clone(), &e.device_class_name));
                let alternatives = request.first_available.iter().flatten();
                let alternatives = alternatives
                    .map(|s| (format!("{}/{}", request.name, s.name), &s.device_class_name));
                for (name, class) in exactly.chain(alternatives) {
                    if !dra.classes.contains_key(class) {
                        return Err(PodClaimsError::ClassNotFound {
                            request: name,
                            class: class.clone(),
                        });
                    }
                }
            }
            to_allocate.push(claim.clone());
        }
        Ok(Some(Self {
            dra,
            pod,
            claims,
            to_allocate,
            special,
            by_node: RefCell::default(),
            unavailable: Cell::default(),
        }))
    }

    /// The reason that the claims cannot be allocated on a node.
    pub(in super::super) fn filter(&self, node: &NodeInfo) -> Option<ClaimFailure> {
        if matches!(self.special, SpecialClaim::Stale(_)) {
            let reason = "cannot schedule extended resource claim";
            return Some(ClaimFailure::Unschedulable(reason));
        }
        let unavailable = self.claims.iter().position(|claim| {
            let selector = allocation(claim).and_then(|a| a.node_selector.as_ref());
            selector.is_some_and(|selector| !selector_matches(selector, node))
        });
        let special = self.special_claim_for(node);
        let mut to_allocate = self.to_allocate.clone();
        to_allocate.extend(special.iter().map(|(claim, _)| claim.clone()));
        if !to_allocate.is_empty() && !self.by_node.borrow().contains_key(&node.name) {
            match allocate(self.dra, node, &to_allocate) {
                Err(error) => return Some(ClaimFailure::Error(error.to_string())),
                Ok(None) => return Some(ClaimFailure::Unschedulable("cannot allocate all claims")),
                Ok(Some(allocations)) => {
                    let found = NodeAllocation {
                        allocations,
                        special,
                    };
                    self.by_node.borrow_mut().insert(node.name.clone(), found);
                }
            }
        }
        unavailable.map(|index| {
            self.unavailable.set(Some(index));
            ClaimFailure::Unschedulable("resourceclaim not available on the node")
        })
    }

    /// The special claim for the extended resources that the node has as devices only.
    fn special_claim_for(
        &self,
        node: &NodeInfo,
    ) -> Option<(Arc<ResourceClaim>, Vec<ContainerExtendedResourceRequest>)> {
        let SpecialClaim::ForNode(claim) = &self.special else {
            return None;
        };
        let spec = self.pod.spec()?;
        let resources = self.pod.device_resources.iter();
        let of_devices = resources.filter(|name| node.allocatable.get(name) == 0);
        let with_classes = of_devices.filter_map(|name| {
            let class = self.dra.extended_resources.get(name)?;
            Some((name.as_str(), class.as_str()))
        });
        let extended = ExtendedRequests::of(spec, with_classes);
        if extended.requests.is_empty() {
            return None;
        }
        let mut claim = ResourceClaim::clone(claim);
        claim.spec.devices.get_or_insert_default().requests = Some(extended.requests);
        Some((Arc::new(claim), extended.mappings))
    }

    /// The writes that bind the claims to the pod on a node that passed [`Self::filter`].
    pub(in super::super) fn claims_to_bind(&self, node: &str) -> Vec<ClaimToBind> {
        let mut by_node = self.by_node.borrow_mut();
        let found = by_node.remove(node);
        let (allocations, special) = found.map_or((Vec::new(), None), |found| {
            (found.allocations, found.special)
        });
        let mut allocations = allocations.into_iter();
        let unreserved = self.claims.iter().filter_map(|claim| {
            let allocation = match allocation(claim) {
                None => allocations.next(),
                Some(_) if is_reserved_for_pod(&self.pod.pod, claim) => return None,
                Some(_) => None,
            };
            let claim = claim.clone();
            Some(ClaimToBind {
                claim,
                allocation,
                mappings: None,
            })
        });
        let mut claims: Vec<ClaimToBind> = unreserved.collect();
        claims.extend(special.map(|(claim, mappings)| ClaimToBind {
            claim,
            allocation: allocations.next(),
            mappings: Some(mappings),
        }));
        claims
    }

    /// An allocated claim that no other pod uses and that is not available on all nodes: it can be
    /// deallocated for the pod. Or the special claim of an earlier attempt, which is deleted.
    pub(in super::super) fn claim_to_deallocate(&self) -> Option<Arc<ResourceClaim>> {
        if let SpecialClaim::Stale(claim) = &self.special {
            return Some(claim.clone());
        }
        let claim = &self.claims[self.unavailable.get()?];
        let uid = self.pod.uid();
        let is_unused = reserved_for(claim).iter().all(|r| r.uid == uid);
        is_unused.then(|| claim.clone())
    }
}
