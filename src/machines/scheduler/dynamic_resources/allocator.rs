//! Allocates devices of one node for claims: the first solution in the order of requests and devices.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use k8s_openapi::api::resource::v1::{
    AllocationResult, Device, DeviceAllocationConfiguration, DeviceAllocationResult,
    DeviceAttribute, DeviceRequestAllocationResult, DeviceTaint, DeviceToleration, ResourceClaim,
};

use super::super::NodeInfo;
use super::device_pools::DeviceId;
use super::device_selection::{Alternative, Candidate, DeviceSelection, MAX_RESULTS, Request};
use super::dra_manager::DraManager;
use kueue_lab_runtime::ObjectKey;

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
) -> Result<Option<Vec<AllocationResult>>, String> {
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
            constraints: constraints(claim)?,
        });
    }
    let mut search = Search {
        claims: &to_allocate,
        allocated: &dra.allocated,
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

struct ClaimToAllocate<'a> {
    claim: &'a ResourceClaim,
    requests: Vec<Request<'a>>,
    /// The attributes of `matchAttribute`, with the requests; all if there are none.
    constraints: Vec<(&'a str, &'a [String])>,
}

fn constraints(claim: &ResourceClaim) -> Result<Vec<(&str, &[String])>, String> {
    let devices = claim.spec.devices.as_ref();
    let constraints = devices.and_then(|d| d.constraints.as_ref());
    let constraints = constraints.into_iter().flatten().enumerate();
    let constraints = constraints.map(|(i, constraint)| {
        let attribute = constraint.match_attribute.as_deref();
        let requests = constraint.requests.as_deref().unwrap_or_default();
        attribute.map(|name| (name, requests)).ok_or_else(|| {
            let key = ObjectKey::of(claim);
            format!("claim {key}, constraint #{i}: empty constraint (unsupported constraint type?)")
        })
    });
    constraints.collect()
}

/// A device chosen for a request.
struct Chosen<'a> {
    request: usize,
    alternative: usize,
    device: Candidate<'a>,
}

struct Search<'a> {
    claims: &'a [ClaimToAllocate<'a>],
    allocated: &'a HashMap<DeviceId, usize>,
    /// The claims, by index, that devices are chosen for.
    allocating: HashMap<DeviceId, BTreeSet<usize>>,
    results: Vec<Vec<Chosen<'a>>>,
    tries: usize,
}

impl<'a> Search<'a> {
    /// Allocates a request and all following ones.
    fn allocate_request(&mut self, claim: usize, request: usize) -> Result<bool, String> {
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
    ) -> Result<bool, String> {
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
            if !self.constraints_hold(at, &candidate.id, candidate.device) {
                if wanted.all {
                    let key = ObjectKey::of(claims[at.claim].claim);
                    let (request, id) = (&wanted.name, &candidate.id);
                    return Err(format!(
                        "claim {key}, request {request}: cannot add device {id} because a claim constraint would not be satisfied"
                    ));
                }
                continue;
            }
            let claims_of_device = self.allocating.entry(candidate.id.clone()).or_default();
            claims_of_device.insert(at.claim);
            self.results[at.claim].push(Chosen {
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
        let is_free = match wanted.admin_access {
            true => allocating.is_none_or(|claims| !claims.contains(&claim)),
            false => {
                !self.allocated.contains_key(&candidate.id)
                    && allocating.is_none_or(BTreeSet::is_empty)
            }
        };
        let device = candidate.device;
        let taints = device.taints.iter().flatten();
        let mut untolerated = taints.filter(|taint| {
            let tolerations = wanted.tolerations.into_iter().flatten();
            matches!(&*taint.effect, "NoSchedule" | "NoExecute")
                && !tolerations.into_iter().any(|t| tolerates_taint(t, taint))
        });
        // Shared counters and binding conditions are not simulated.
        is_free
            && untolerated.next().is_none()
            && device.consumes_counters.as_ref().is_none_or(Vec::is_empty)
            && device.binding_conditions.as_ref().is_none_or(Vec::is_empty)
    }

    /// Whether the constraints of a claim hold with one more device.
    fn constraints_hold(&self, at: Position, id: &DeviceId, device: &Device) -> bool {
        let claim = &self.claims[at.claim];
        let name_of = |request: usize, alternative: usize| {
            let request = &claim.requests[request];
            (request.name, &*request.alternatives[alternative].name)
        };
        claim.constraints.iter().all(|(attribute, requests)| {
            let applies = |(name, full): (&str, &str)| {
                requests.is_empty() || requests.iter().any(|r| r == name || r == full)
            };
            if !applies(name_of(at.request, at.alternative)) {
                return true;
            }
            let Some(value) = lookup_attribute(device, &id.driver, attribute) else {
                return false;
            };
            let mut others = self.results[at.claim].iter();
            let first = others.find(|other| applies(name_of(other.request, other.alternative)));
            first.is_none_or(|first| {
                let driver = &first.device.id.driver;
                lookup_attribute(first.device.device, driver, attribute) == Some(value)
            })
        })
    }
}

#[derive(Clone, Copy)]
struct Position {
    claim: usize,
    request: usize,
    alternative: usize,
}

/// An attribute by its fully qualified name. Names without a domain belong to the driver's.
fn lookup_attribute<'a>(
    device: &'a Device,
    driver: &str,
    name: &str,
) -> Option<&'a DeviceAttribute> {
    let attributes = device.attributes.as_ref()?;
    attributes.get(name).or_else(|| {
        let (domain, name) = name.split_once('/')?;
        attributes.get(name).filter(|_| domain == driver)
    })
}

fn tolerates_taint(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let set = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    if set(&toleration.effect).is_some_and(|effect| effect != taint.effect)
        || set(&toleration.key).is_some_and(|key| key != taint.key)
    {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or("Equal") {
        "" | "Equal" => set(&toleration.value) == set(&taint.value),
        "Exists" => true,
        _ => false,
    }
}

impl ClaimToAllocate<'_> {
    fn allocation_result(&self, chosen: &[Chosen<'_>]) -> Result<AllocationResult, String> {
        let results = chosen.iter().map(|chosen| {
            let wanted = &self.requests[chosen.request].alternatives[chosen.alternative];
            let id = &chosen.device.id;
            DeviceRequestAllocationResult {
                request: wanted.name.clone(),
                driver: id.driver.clone(),
                pool: id.pool.clone(),
                device: id.device.clone(),
                admin_access: wanted.admin_access.then_some(true),
                tolerations: wanted.tolerations.cloned(),
                ..DeviceRequestAllocationResult::default()
            }
        });
        let config = self.config(chosen);
        Ok(AllocationResult {
            devices: Some(DeviceAllocationResult {
                results: Some(results.collect()),
                config: (!config.is_empty()).then_some(config),
            }),
            node_selector: node_selector(chosen).map_err(|error| {
                let name = ObjectKey::of(self.claim).name;
                format!("create NodeSelector for claim {name}: {error}")
            })?,
            ..AllocationResult::default()
        })
    }

    /// The configuration of the classes, each once, and of the claim.
    fn config(&self, chosen: &[Chosen<'_>]) -> Vec<DeviceAllocationConfiguration> {
        // The alternative that each request got; requests of no device have one alternative.
        let selected: Vec<&Alternative<'_>> = self
            .requests
            .iter()
            .enumerate()
            .map(|(index, request)| {
                let of_request = chosen.iter().find(|chosen| chosen.request == index);
                &request.alternatives[of_request.map_or(0, |chosen| chosen.alternative)]
            })
            .collect();
        let mut config = Vec::new();
        let mut classes = BTreeSet::new();
        for alternative in &selected {
            let class = &alternative.class.metadata.name;
            if !classes.insert(class) {
                continue;
            }
            let same = selected.iter().filter(|s| s.class.metadata.name == *class);
            let requests: Vec<String> = same.map(|s| s.name.clone()).collect();
            for of_class in alternative.class.spec.config.iter().flatten() {
                config.push(DeviceAllocationConfiguration {
                    source: "FromClass".to_owned(),
                    requests: Some(requests.clone()),
                    opaque: of_class.opaque.clone(),
                });
            }
        }
        let names = |requests: &[String], index: usize| {
            let (base, full) = (self.requests[index].name, &*selected[index].name);
            requests.iter().any(|name| name == base || name == full)
        };
        let devices = self.claim.spec.devices.as_ref();
        for of_claim in devices
            .and_then(|d| d.config.as_ref())
            .into_iter()
            .flatten()
        {
            let requests = of_claim.requests.as_deref().unwrap_or_default();
            let all = requests.is_empty();
            if all || (0..selected.len()).any(|index| names(requests, index)) {
                config.push(DeviceAllocationConfiguration {
                    source: "FromClaim".to_owned(),
                    requests: of_claim.requests.clone(),
                    opaque: of_claim.opaque.clone(),
                });
            }
        }
        for of_requests in &mut config {
            let requests = of_requests.requests.as_deref().unwrap_or_default();
            if (0..selected.len()).all(|index| names(requests, index)) {
                of_requests.requests = None;
            }
        }
        config
    }
}

/// The nodes on which all devices are available; `None` for all nodes.
fn node_selector(chosen: &[Chosen<'_>]) -> Result<Option<NodeSelector>, String> {
    let mut term = NodeSelectorTerm::default();
    let selector = |term: NodeSelectorTerm| {
        Some(NodeSelector {
            node_selector_terms: vec![term],
        })
    };
    for Chosen { device, .. } in chosen {
        let spec = &device.slice.spec;
        let (name, nodes) = match spec.per_device_node_selection {
            Some(true) => (&device.device.node_name, &device.device.node_selector),
            _ => (&spec.node_name, &spec.node_selector),
        };
        if let Some(name) = name {
            return Ok(selector(NodeSelectorTerm {
                match_fields: Some(vec![NodeSelectorRequirement {
                    key: "metadata.name".to_owned(),
                    operator: "In".to_owned(),
                    values: Some(vec![name.clone()]),
                }]),
                ..NodeSelectorTerm::default()
            }));
        }
        match nodes.as_ref().map(|nodes| &*nodes.node_selector_terms) {
            None | Some([]) => {}
            Some([of_slice]) => {
                add_requirements(&mut term.match_fields, &of_slice.match_fields);
                add_requirements(&mut term.match_expressions, &of_slice.match_expressions);
            }
            Some(terms) => {
                let terms = terms.len();
                return Err(format!(
                    "unsupported ResourceSlice.NodeSelector with {terms} terms"
                ));
            }
        }
    }
    let is_empty = term.match_fields.is_none() && term.match_expressions.is_none();
    Ok((!is_empty).then(|| selector(term)).flatten())
}

fn add_requirements(
    to: &mut Option<Vec<NodeSelectorRequirement>>,
    from: &Option<Vec<NodeSelectorRequirement>>,
) {
    for requirement in from.iter().flatten() {
        let known = to.get_or_insert_default();
        if !known.contains(requirement) {
            known.push(requirement.clone());
        }
    }
}
