//! The devices of a node that each request of a claim can use.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::resource::v1::{
    CapacityRequirements, Device, DeviceClass, DeviceSelector, DeviceToleration, ResourceClaim,
    ResourceSlice,
};

use super::super::NodeInfo;
use super::allocation_error::{AllocationError, RequestProblem};
use super::device_pools::{DeviceId, DeviceSlice, NodePool, is_on_node};
use kueue_lab_controller_runtime::ObjectKey;

/// The maximum number of devices of a claim.
pub(super) const MAX_RESULTS: usize = 32;

/// A device that a request may use.
#[derive(Clone)]
pub(super) struct Candidate<'a> {
    pub id: DeviceId,
    pub device: &'a Device,
    pub slice: &'a ResourceSlice,
    /// The runtime error of a selector, which fails the allocation once the device is tried.
    pub error: Option<AllocationError>,
}

/// A request without alternatives, or one of the alternatives of `firstAvailable`.
pub(super) struct Alternative<'a> {
    /// The name in results: `request` or `request/subrequest`.
    pub name: String,
    pub class: &'a DeviceClass,
    pub admin_access: bool,
    pub tolerations: Option<&'a Vec<DeviceToleration>>,
    /// The capacity of each device that is requested.
    pub capacity: Option<&'a CapacityRequirements>,
    /// Whether all devices are requested.
    pub all: bool,
    pub count: usize,
    pub candidates: Vec<Candidate<'a>>,
}

/// A request of a claim with its alternatives in the order of preference.
pub(super) struct Request<'a> {
    pub name: &'a str,
    pub alternatives: Vec<Alternative<'a>>,
}

/// The request of an alternative.
struct AlternativeRequest<'a> {
    name: String,
    class: &'a str,
    mode: Option<&'a str>,
    count: Option<i64>,
    admin_access: bool,
    selectors: Option<&'a Vec<DeviceSelector>>,
    tolerations: Option<&'a Vec<DeviceToleration>>,
    capacity: Option<&'a CapacityRequirements>,
}

/// The devices of a node and the classes.
pub(super) struct DeviceSelection<'a> {
    pub node: &'a NodeInfo,
    pub pools: Vec<NodePool<'a>>,
    pub classes: &'a BTreeMap<String, Arc<DeviceClass>>,
}

impl<'a> DeviceSelection<'a> {
    /// The requests of a claim.
    ///
    /// # Errors
    /// When a class does not exist, a selector does not compile or fails, all devices of an
    /// incomplete pool are requested, or the claim requests too many devices.
    pub(super) fn requests(
        &self,
        claim: &'a ResourceClaim,
    ) -> Result<Vec<Request<'a>>, AllocationError> {
        let key = ObjectKey::of(claim);
        let devices = claim.spec.devices.as_ref();
        let requests = devices.and_then(|d| d.requests.as_ref());
        let mut selected = Vec::new();
        let mut minimum = 0;
        for request in requests.into_iter().flatten() {
            let exactly = request.exactly.iter().map(|exactly| AlternativeRequest {
                name: request.name.clone(),
                class: &exactly.device_class_name,
                mode: exactly.allocation_mode.as_deref(),
                count: exactly.count,
                admin_access: exactly.admin_access == Some(true),
                selectors: exactly.selectors.as_ref(),
                tolerations: exactly.tolerations.as_ref(),
                capacity: exactly.capacity.as_ref(),
            });
            let first_available = request.first_available.iter().flatten();
            let first_available = first_available.map(|subrequest| AlternativeRequest {
                name: format!("{}/{}", request.name, subrequest.name),
                class: &subrequest.device_class_name,
                mode: subrequest.allocation_mode.as_deref(),
                count: subrequest.count,
                admin_access: false,
                selectors: subrequest.selectors.as_ref(),
                tolerations: subrequest.tolerations.as_ref(),
                capacity: subrequest.capacity.as_ref(),
            });
            let alternatives = exactly
                .chain(first_available)
                .map(|wanted| self.alternative(&key, wanted))
                .collect::<Result<Vec<_>, _>>()?;
            if alternatives.is_empty() {
                return Err(AllocationError::Request {
                    claim: key,
                    request: request.name.clone(),
                    problem: Box::new(RequestProblem::NoClass),
                });
            }
            let counts = alternatives.iter().map(|alternative| alternative.count);
            minimum += counts.min().unwrap_or(0);
            selected.push(Request {
                name: &request.name,
                alternatives,
            });
        }
        if minimum > MAX_RESULTS {
            return Err(AllocationError::TooManyDevices {
                claim: key,
                count: minimum,
            });
        }
        Ok(selected)
    }

    fn alternative(
        &self,
        claim: &ObjectKey,
        wanted: AlternativeRequest<'a>,
    ) -> Result<Alternative<'a>, AllocationError> {
        let invalid = |problem| AllocationError::Request {
            claim: claim.clone(),
            request: wanted.name.clone(),
            problem: Box::new(problem),
        };
        let class = self
            .classes
            .get(wanted.class)
            .ok_or_else(|| invalid(RequestProblem::ClassNotFound(wanted.class.to_owned())))?;
        let all = match wanted.mode.unwrap_or("ExactCount") {
            "ExactCount" => false,
            "All" => true,
            mode => return Err(invalid(RequestProblem::CountMode(mode.to_owned()))),
        };
        let mut candidates = Vec::new();
        for pool in &self.pools {
            if pool.is_incomplete && all {
                return Err(invalid(RequestProblem::IncompletePool {
                    driver: pool.driver.to_owned(),
                    pool: pool.name.to_owned(),
                }));
            }
            if pool.is_incomplete {
                continue;
            }
            for slice in &pool.slices {
                self.add_candidates(&mut candidates, claim, class, &wanted, pool, slice)?;
            }
        }
        let count = match all {
            true => candidates.len(),
            false => usize::try_from(wanted.count.unwrap_or(1)).unwrap_or(usize::MAX),
        };
        Ok(Alternative {
            name: wanted.name,
            class,
            admin_access: wanted.admin_access,
            tolerations: wanted.tolerations,
            capacity: wanted.capacity,
            all,
            count,
            candidates,
        })
    }

    /// Adds the devices of a slice that match the class and the request.
    fn add_candidates(
        &self,
        candidates: &mut Vec<Candidate<'a>>,
        claim: &ObjectKey,
        class: &DeviceClass,
        wanted: &AlternativeRequest<'_>,
        pool: &NodePool<'a>,
        slice: &'a DeviceSlice,
    ) -> Result<(), AllocationError> {
        let class_name = class.metadata.name.as_deref().unwrap_or_default();
        let of_class = selectors(class.spec.selectors.as_ref(), format!("class {class_name}"));
        let of_request = selectors(wanted.selectors, format!("claim {claim}"));
        let mut matches = Vec::new();
        for (expression, at) in of_class.into_iter().chain(of_request) {
            match slice.matches(expression) {
                Ok(outcome) => matches.push((outcome, at)),
                Err(source) => {
                    let selector = at;
                    return Err(AllocationError::Compile { selector, source });
                }
            }
        }
        let per_device = slice.slice.spec.per_device_node_selection == Some(true);
        for (index, device) in slice.devices().iter().enumerate() {
            if per_device && !is_on_node(device, self.node) {
                continue;
            }
            let id = DeviceId {
                driver: pool.driver.to_owned(),
                pool: pool.name.to_owned(),
                device: device.name.clone(),
            };
            let mut error = None;
            let mut selected = true;
            for (outcome, at) in &matches {
                match &outcome[index] {
                    Ok(true) => continue,
                    Ok(false) => selected = false,
                    Err(source) => {
                        error = Some(AllocationError::Evaluate {
                            selector: at.clone(),
                            device: id.clone(),
                            source: Box::new(source.clone()),
                        });
                    }
                }
                break;
            }
            if selected {
                candidates.push(Candidate {
                    id,
                    device,
                    slice: &slice.slice,
                    error,
                });
            }
        }
        Ok(())
    }
}

/// The expressions of selectors, each with its place.
fn selectors(selectors: Option<&Vec<DeviceSelector>>, of: String) -> Vec<(&str, String)> {
    let selectors = selectors.into_iter().flatten().enumerate();
    let expressions = selectors.filter_map(|(i, selector)| {
        let expression = &selector.cel.as_ref()?.expression;
        Some((expression.as_str(), format!("{of}: selector #{i}")))
    });
    expressions.collect()
}
