//! The claims of one pod during a scheduling cycle, and their allocations on each node.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::resource::v1::{AllocationResult, ResourceClaim};

use super::super::{NodeInfo, PodInfo};
use super::allocator::allocate;
use super::device_pools::selector_matches;
use super::{ClaimToBind, DraManager};
use crate::resource_claims::{allocation, is_reserved_for_pod, reserved_for};

/// Why a node is not possible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum ClaimFailure {
    /// The reason of the filter.
    Unschedulable(&'static str),
    /// An error that ends the scheduling cycle.
    Error(String),
}

/// The pre-filter state of a pod with claims.
pub(in super::super) struct NodeAllocations<'a> {
    dra: &'a DraManager,
    pod: &'a PodInfo,
    claims: Vec<Arc<ResourceClaim>>,
    to_allocate: Vec<Arc<ResourceClaim>>,
    by_node: RefCell<HashMap<String, Vec<AllocationResult>>>,
    /// The index of an allocated claim that was not available on a node.
    unavailable: Cell<Option<usize>>,
}

impl<'a> NodeAllocations<'a> {
    /// The state of a pod, `None` if it needs no claims.
    ///
    /// # Errors
    /// Why the pod cannot be scheduled on any node.
    pub(in super::super) fn pre_filter(
        dra: &'a DraManager,
        pod: &'a PodInfo,
    ) -> Result<Option<Self>, String> {
        let claims = dra.pod_claims(&pod.pod)?;
        if claims.is_empty() {
            return Ok(None);
        }
        let mut to_allocate = Vec::new();
        for claim in claims.iter().filter(|claim| allocation(claim).is_none()) {
            if dra.is_pending(claim) {
                let key = kueue_lab_runtime::ObjectKey::of(&**claim);
                return Err(format!(
                    "resource claim {key} is in the process of being allocated"
                ));
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
                        return Err(format!(
                            "request {name}: device class {class} does not exist"
                        ));
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
            by_node: RefCell::default(),
            unavailable: Cell::default(),
        }))
    }

    /// Why the claims cannot be used on a node.
    pub(in super::super) fn filter(&self, node: &NodeInfo) -> Option<ClaimFailure> {
        let unavailable = self.claims.iter().position(|claim| {
            let selector = allocation(claim).and_then(|a| a.node_selector.as_ref());
            selector.is_some_and(|selector| !selector_matches(selector, node))
        });
        if !self.to_allocate.is_empty() && !self.by_node.borrow().contains_key(&node.name) {
            match allocate(self.dra, node, &self.to_allocate) {
                Err(error) => return Some(ClaimFailure::Error(error)),
                Ok(None) => return Some(ClaimFailure::Unschedulable("cannot allocate all claims")),
                Ok(Some(allocations)) => {
                    let mut by_node = self.by_node.borrow_mut();
                    by_node.insert(node.name.clone(), allocations);
                }
            }
        }
        unavailable.map(|index| {
            self.unavailable.set(Some(index));
            ClaimFailure::Unschedulable("resourceclaim not available on the node")
        })
    }

    /// The writes that bind the claims to the pod on a node that passed [`Self::filter`].
    pub(in super::super) fn claims_to_bind(&self, node: &str) -> Vec<ClaimToBind> {
        let mut by_node = self.by_node.borrow_mut();
        let mut allocations = by_node.remove(node).unwrap_or_default().into_iter();
        let unreserved = self.claims.iter().filter_map(|claim| {
            let allocation = match allocation(claim) {
                None => allocations.next(),
                Some(_) if is_reserved_for_pod(&self.pod.pod, claim) => return None,
                Some(_) => None,
            };
            let claim = claim.clone();
            Some(ClaimToBind { claim, allocation })
        });
        unreserved.collect()
    }

    /// An allocated claim that no other pod uses and that is not available on all nodes: it can be
    /// deallocated for the pod.
    pub(in super::super) fn claim_to_deallocate(&self) -> Option<Arc<ResourceClaim>> {
        let claim = &self.claims[self.unavailable.get()?];
        let uid = self.pod.uid();
        let is_unused = reserved_for(claim).iter().all(|r| r.uid == uid);
        is_unused.then(|| claim.clone())
    }
}
