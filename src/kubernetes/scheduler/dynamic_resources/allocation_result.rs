//! The allocation that is written to a claim: devices, configuration and nodes.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use k8s_openapi::api::resource::v1::{
    AllocationResult, DeviceAllocationConfiguration, DeviceAllocationResult,
    DeviceRequestAllocationResult,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::allocation_error::AllocationError;
use super::allocator::{ClaimToAllocate, SelectedDevice};
use super::consumable_capacity::{consumed_capacity, is_shared};
use super::device_selection::Alternative;
use kueue_lab_controller_runtime::ObjectKey;

impl ClaimToAllocate<'_> {
    /// The allocation of the claim with these devices.
    ///
    /// # Errors
    /// A slice has a node selector with several terms.
    pub(super) fn allocation_result(
        &self,
        chosen: &[SelectedDevice<'_>],
    ) -> Result<AllocationResult, AllocationError> {
        let results = chosen.iter().map(|chosen| {
            let wanted = &self.requests[chosen.request].alternatives[chosen.alternative];
            let (id, device) = (&chosen.device.id, chosen.device.device);
            let consumed = is_shared(device).then(|| {
                let consumed = consumed_capacity(wanted.capacity, device).into_iter();
                let consumed = consumed.map(|(name, amount)| (name, Quantity(amount.to_string())));
                consumed.collect::<BTreeMap<_, _>>()
            });
            let consumed = consumed.filter(|consumed| !consumed.is_empty());
            DeviceRequestAllocationResult {
                request: wanted.name.clone(),
                driver: id.driver.clone(),
                pool: id.pool.clone(),
                device: id.device.clone(),
                admin_access: wanted.admin_access.then_some(true),
                tolerations: wanted.tolerations.cloned(),
                binding_conditions: device.binding_conditions.clone(),
                binding_failure_conditions: device.binding_failure_conditions.clone(),
                consumed_capacity: consumed,
                share_id: is_shared(device).then(String::new),
            }
        });
        let config = self.config(chosen);
        Ok(AllocationResult {
            devices: Some(DeviceAllocationResult {
                results: Some(results.collect()),
                config: (!config.is_empty()).then_some(config),
            }),
            node_selector: node_selector(chosen, self.node).map_err(|terms| {
                let claim = ObjectKey::of(self.claim).name;
                AllocationError::NodeSelectorTerms { claim, terms }
            })?,
            ..AllocationResult::default()
        })
    }

    /// The configuration of the classes, each once, and of the claim.
    fn config(&self, chosen: &[SelectedDevice<'_>]) -> Vec<DeviceAllocationConfiguration> {
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
///
/// # Errors
/// The number of terms of a node selector that has several.
fn node_selector(chosen: &[SelectedDevice<'_>], node: &str) -> Result<Option<NodeSelector>, usize> {
    let mut term = NodeSelectorTerm::default();
    let selector = |term: NodeSelectorTerm| {
        Some(NodeSelector {
            node_selector_terms: vec![term],
        })
    };
    for SelectedDevice { device, .. } in chosen {
        let spec = &device.slice.spec;
        let (name, nodes) = match spec.per_device_node_selection {
            Some(true) => (&device.device.node_name, &device.device.node_selector),
            _ => (&spec.node_name, &spec.node_selector),
        };
        let bound = device.device.binds_to_node == Some(true);
        if let Some(name) = name.as_deref().or_else(|| bound.then_some(node)) {
            return Ok(selector(NodeSelectorTerm {
                match_fields: Some(vec![NodeSelectorRequirement {
                    key: "metadata.name".to_owned(),
                    operator: "In".to_owned(),
                    values: Some(vec![name.to_owned()]),
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
            Some(terms) => return Err(terms.len()),
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
