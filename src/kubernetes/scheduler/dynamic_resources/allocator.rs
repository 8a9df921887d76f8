//! Allocates devices of one node for claims: the first solution in the order of requests and devices.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::resource::v1::{AllocationResult, ResourceClaim};

use super::super::NodeInfo;
use super::allocation_error::{AllocationError, RequestProblem};
use super::constraints::Constraint;
use super::consumable_capacity::{SharedDevice, has_capacity, is_shared};
use super::device_pools::DeviceId;
use super::device_selection::{Alternative, Candidate, DeviceSelection, MAX_RESULTS, Request};
use super::dra_manager::DraManager;
use super::shared_counters::AvailableCounters;
use kueue_lab_component_helpers::toleration::tolerates_device_taint;
use kueue_lab_controller_runtime::ObjectKey;

/// How many devices are tried on a node. Upstream stops after 10 seconds.
const MAX_TRIES: usize = 20_000;

/// Allocates devices of a node for all claims; `None` if they do not suffice.
///
/// # Errors
/// When a claim or a class is invalid.
pub(super) fn allocate(
    dra: &DraManager,
    node: &NodeInfo,
    claims: &[Arc<ResourceClaim>],
) -> Result<Option<Vec<AllocationResult>>, AllocationError> {
    let selection = DeviceSelection {
        node,
        pools: dra.pools.for_node(node),
        classes: &dra.classes,
    };
    let mut to_allocate = Vec::with_capacity(claims.len());
    for claim in claims {
        to_allocate.push(ClaimToAllocate {
            claim,
            requests: selection.requests(claim)?,
            constraints: Constraint::of(claim)?,
            node: &node.name,
        });
    }
    let mut search = Search {
        claims: &to_allocate,
        allocated: &dra.allocated,
        shared: &dra.shared,
        counters: AvailableCounters::new(&selection.pools, |id| dra.is_in_use(id)),
        allocating: HashMap::new(),
        results: claims.iter().map(|_| Vec::new()).collect(),
        tries: 0,
    };
    if !search.allocate_request(0, 0)? {
        return Ok(None);
    }
    let results = std::mem::take(&mut search.results);
    let results = to_allocate.iter().zip(&results);
    let allocations = results.map(|(claim, chosen)| claim.allocation_result(chosen));
    allocations.collect::<Result<Vec<_>, _>>().map(Some)
}

/// A claim without allocation.
pub(super) struct ClaimToAllocate<'a> {
    pub claim: &'a ResourceClaim,
    pub requests: Vec<Request<'a>>,
    constraints: Vec<Constraint<'a>>,
    /// The node.
    pub node: &'a str,
}

/// A device chosen for a request.
pub(super) struct SelectedDevice<'a> {
    pub request: usize,
    pub alternative: usize,
    pub device: Candidate<'a>,
}

struct Search<'a> {
    claims: &'a [ClaimToAllocate<'a>],
    allocated: &'a HashMap<DeviceId, usize>,
    /// The devices that several claims share.
    shared: &'a HashMap<DeviceId, SharedDevice>,
    counters: AvailableCounters<'a>,
    /// The claims, by index, that devices are chosen for.
    allocating: HashMap<DeviceId, BTreeSet<usize>>,
    results: Vec<Vec<SelectedDevice<'a>>>,
    tries: usize,
}

impl<'a> Search<'a> {
    /// Allocates a request and all following ones.
    fn allocate_request(&mut self, claim: usize, request: usize) -> Result<bool, AllocationError> {
        let claims = self.claims;
        let Some(of_claim) = claims.get(claim) else {
            return Ok(true);
        };
        let Some(wanted) = of_claim.requests.get(request) else {
            return self.allocate_request(claim + 1, 0);
        };
        for (index, alternative) in wanted.alternatives.iter().enumerate() {
            let is_impossible = alternative.candidates.len() < alternative.count
                || (alternative.all && alternative.candidates.is_empty())
                || self.results[claim].len() + alternative.count > MAX_RESULTS;
            if is_impossible {
                continue;
            }
            let at = Position {
                claim,
                request,
                alternative: index,
            };
            if self.allocate_device(at, 0, 0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Allocates the device number `chosen` of a request and all following ones, with candidates
    /// from `next` on.
    fn allocate_device(
        &mut self,
        at: Position,
        chosen: usize,
        next: usize,
    ) -> Result<bool, AllocationError> {
        let claims = self.claims;
        let wanted = &claims[at.claim].requests[at.request].alternatives[at.alternative];
        if chosen >= wanted.count {
            return self.allocate_request(at.claim, at.request + 1);
        }
        if wanted.candidates.len().saturating_sub(next) < wanted.count - chosen {
            return Ok(false);
        }
        for (index, candidate) in wanted.candidates.iter().enumerate().skip(next) {
            self.tries += 1;
            if self.tries > MAX_TRIES {
                return Ok(false);
            }
            if let Some(error) = &candidate.error {
                return Err(error.clone());
            }
            if !self.is_usable(at.claim, wanted, candidate) {
                if wanted.all {
                    return Ok(false);
                }
                continue;
            }
            if !self.constraints_hold(at, candidate) {
                if wanted.all {
                    return Err(AllocationError::Request {
                        claim: ObjectKey::of(claims[at.claim].claim),
                        request: wanted.name.clone(),
                        problem: Box::new(RequestProblem::Constraint(candidate.id.clone())),
                    });
                }
                continue;
            }
            if !is_shared(candidate.device) {
                let claims_of_device = self.allocating.entry(candidate.id.clone()).or_default();
                claims_of_device.insert(at.claim);
            }
            self.results[at.claim].push(SelectedDevice {
                request: at.request,
                alternative: at.alternative,
                device: candidate.clone(),
            });
            if self.allocate_device(at, chosen + 1, index + 1)? {
                return Ok(true);
            }
            self.results[at.claim].pop();
            if let Some(claims_of_device) = self.allocating.get_mut(&candidate.id) {
                claims_of_device.remove(&at.claim);
            }
            if wanted.all {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Whether a device is free for a request, or the request has admin access.
    fn is_usable(&self, claim: usize, wanted: &Alternative<'_>, candidate: &Candidate<'_>) -> bool {
        let allocating = self.allocating.get(&candidate.id);
        let device = candidate.device;
        let is_shared = is_shared(device);
        let is_free = match (wanted.admin_access, is_shared) {
            (_, true) => true,
            (true, false) => allocating.is_none_or(|claims| !claims.contains(&claim)),
            (false, false) => {
                !self.allocated.contains_key(&candidate.id)
                    && allocating.is_none_or(BTreeSet::is_empty)
            }
        };
        let taints = device.taints.iter().flatten();
        let mut untolerated = taints.filter(|taint| {
            let tolerations = wanted.tolerations.into_iter().flatten();
            matches!(&*taint.effect, "NoSchedule" | "NoExecute")
                && !tolerations
                    .into_iter()
                    .any(|t| tolerates_device_taint(t, taint))
        });
        is_free
            && untolerated.next().is_none()
            && self.has_capacity(wanted, candidate)
            && self.has_counters(candidate)
    }

    /// The selected devices, with their alternatives.
    fn chosen(&self) -> impl Iterator<Item = (&Alternative<'a>, &SelectedDevice<'a>)> {
        let claims = self.claims.iter().zip(&self.results);
        claims.flat_map(|(claim, results)| {
            results.iter().map(|chosen| {
                let request = &claim.requests[chosen.request];
                (&request.alternatives[chosen.alternative], chosen)
            })
        })
    }

    /// Whether the device has the capacity that the request consumes.
    fn has_capacity(&self, wanted: &Alternative<'_>, candidate: &Candidate<'_>) -> bool {
        let same = self.chosen().filter(|(_, o)| o.device.id == candidate.id);
        let others = same.map(|(alternative, _)| alternative.capacity);
        let in_use = self.shared.get(&candidate.id);
        has_capacity(candidate.device, wanted.capacity, in_use, others)
    }

    /// Whether the pool has the counters that the device consumes. Further shares of a device consume none.
    fn has_counters(&self, candidate: &Candidate<'_>) -> bool {
        let device = candidate.device;
        if device.consumes_counters.as_ref().is_none_or(Vec::is_empty) {
            return true;
        }
        let chosen = self.chosen().map(|(_, chosen)| &chosen.device);
        let mut others: Vec<&Candidate<'_>> = Vec::new();
        for other in chosen {
            if !self.shared.contains_key(&other.id) && others.iter().all(|o| o.id != other.id) {
                others.push(other);
            }
        }
        let is_further_share = is_shared(device)
            && (self.shared.contains_key(&candidate.id)
                || others.iter().any(|other| other.id == candidate.id));
        is_further_share || self.counters.suffice(candidate, &others)
    }

    /// Whether the constraints of a claim hold with one more device.
    fn constraints_hold(&self, at: Position, candidate: &Candidate<'_>) -> bool {
        let claim = &self.claims[at.claim];
        let name_of = |request: usize, alternative: usize| {
            let request = &claim.requests[request];
            (request.name, &*request.alternatives[alternative].name)
        };
        let name = name_of(at.request, at.alternative);
        claim.constraints.iter().all(|constraint| {
            let others = self.results[at.claim].iter();
            let others = others.filter(|o| constraint.applies(name_of(o.request, o.alternative)));
            !constraint.applies(name) || constraint.holds(candidate, others.map(|o| &o.device))
        })
    }
}

#[derive(Clone, Copy)]
struct Position {
    claim: usize,
    request: usize,
    alternative: usize,
}
