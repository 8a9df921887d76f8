//! Total requests of the pod sets of a Workload, before and after admission.
//!
//! Must not depend on ClusterQueues.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::{EngineConfig, ResourceTransformation, TransformationStrategy};
use crate::kube::pod_requests::{ExactList, exact, pod_requests, pod_requests_exact};
use crate::resources::{Decimal, FlavorName, Requests, ResourceList, ResourceName};
use crate::topology_assignment;
use crate::workload::TopologyDomainRequests;
use kueue_lab_api::v1beta2::{DelayedTopologyRequestState, Workload};

/// Total requests of a pod set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSetResources {
    /// The name of the pod set.
    pub name: String,
    /// The requests of all pods.
    pub requests: Requests,
    /// The number of pods.
    pub count: i32,
    /// The topology assignment, once there is one.
    pub topology_request: Option<TopologyRequest>,
    /// The state of a delayed topology request.
    pub delayed_topology_request: Option<DelayedTopologyRequestState>,
    /// The flavor of each assigned resource.
    pub flavors: BTreeMap<ResourceName, FlavorName>,
}

/// The topology assignment of a pod set, with requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyRequest {
    /// The levels.
    pub levels: Vec<String>,
    /// The pods by domain.
    pub domain_requests: Vec<TopologyDomainRequests>,
}

impl PodSetResources {
    /// The pod set with another pod count. With a topology assignment the count does not change.
    #[must_use]
    pub(crate) fn scaled_to(&self, count: i32) -> PodSetResources {
        if self.topology_request.is_some() {
            return self.clone();
        }
        let mut scaled = PodSetResources {
            delayed_topology_request: None,
            ..self.clone()
        };
        if self.count != 0 && self.count != count {
            scaled.requests.div(i64::from(self.count));
            scaled.requests.mul(i64::from(count));
            scaled.count = count;
        }
        scaled
    }
}

/// Resource requests of devices by pod set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraRequests {
    /// Added resources of each pod set, per pod.
    pub added: BTreeMap<String, ResourceList>,
    /// Extended resources that the added ones replace, by pod set.
    pub replaced: BTreeMap<String, Vec<String>>,
}

/// Pod counts without reclaimable pods.
fn counts_after_reclaim<'a>(wl: &'a Workload, config: &EngineConfig) -> BTreeMap<&'a str, i32> {
    let mut counts: BTreeMap<&str, i32> = wl
        .spec
        .pod_sets
        .iter()
        .map(|ps| (ps.name.as_str(), ps.count))
        .collect();
    if config.gates.reclaimable_pods {
        let reclaimed: BTreeMap<&str, i32> = wl
            .status
            .reclaimable_pods
            .iter()
            .map(|p| (p.name.as_str(), p.count))
            .collect();
        for (name, count) in &mut counts {
            // After a scale-down there may be more reclaimable pods than pods.
            let back = reclaimed.get(name).copied().unwrap_or(0).min(*count);
            *count = count.saturating_sub(back);
        }
    }
    counts
}

/// Total requests of a Workload without quota reservation, from its pod templates.
pub(crate) fn total_requests_from_pod_sets(
    wl: &Workload,
    config: &EngineConfig,
    dra: Option<&DraRequests>,
) -> Vec<PodSetResources> {
    let counts = counts_after_reclaim(wl, config);
    let single = |ps: &kueue_lab_api::v1beta2::PodSet| {
        let Some(spec) = &ps.template.spec else {
            return ExactList::new();
        };
        let mut requests = pod_requests_exact(spec);
        requests.retain(|name, _| {
            !config
                .excluded_resource_prefixes
                .iter()
                .any(|p| name.as_str().starts_with(p.as_str()))
        });
        let mut requests =
            apply_resource_transformations(requests, &config.resource_transformations);
        if let Some(dra) = dra.filter(|_| config.gates.kueue_dra_integration) {
            for replaced in dra.replaced.get(&ps.name).into_iter().flatten() {
                requests.remove(&ResourceName::new(replaced));
            }
            for (name, quantity) in dra.added.get(&ps.name).map(exact).unwrap_or_default() {
                let sum = requests.entry(name).or_default();
                *sum = sum.plus(quantity);
            }
        }
        requests
    };
    wl.spec
        .pod_sets
        .iter()
        .map(|ps| {
            let count = counts.get(ps.name.as_str()).copied().unwrap_or(ps.count);
            let mut requests = Requests::from_exact(&single(ps));
            requests.floor_to_zero();
            requests.mul(i64::from(count));
            PodSetResources {
                name: ps.name.clone(),
                requests,
                count,
                ..Default::default()
            }
        })
        .collect()
}

/// Total requests of a Workload with quota reservation, from its admission. The topology request
/// has the requests of the pod template, before excluded prefixes and transformations.
pub(crate) fn total_requests_from_admission(
    wl: &Workload,
    config: &EngineConfig,
) -> Vec<PodSetResources> {
    let Some(admission) = &wl.status.admission else {
        return Vec::new();
    };
    let counts = counts_after_reclaim(wl, config);
    let tas = config.gates.topology_aware_scheduling;
    let mut totals = Vec::with_capacity(admission.pod_set_assignments.len());
    for psa in &admission.pod_set_assignments {
        let pod_set = wl.spec.pod_sets.iter().find(|ps| ps.name == psa.name);
        let mut set = PodSetResources {
            name: psa.name.clone(),
            requests: Requests::from_list(&psa.resource_usage),
            count: psa
                .count
                .unwrap_or_else(|| pod_set.map_or(0, |ps| ps.count)),
            flavors: psa
                .flavors
                .iter()
                .map(|(res, flavor)| (ResourceName::new(res), flavor.as_str().into()))
                .collect(),
            ..Default::default()
        };
        if let Some(ta) = psa.topology_assignment.as_ref().filter(|_| tas) {
            let spec = pod_set.and_then(|ps| ps.template.spec.as_ref());
            let single = match (pod_set, spec) {
                (Some(_), Some(spec)) => pod_requests(spec),
                (Some(_), None) => Requests::new(),
                (None, _) => set.requests.scaled_down(i64::from(set.count)),
            };
            let placed = topology_assignment::decode(ta);
            set.topology_request = Some(TopologyRequest {
                levels: placed.levels,
                domain_requests: placed
                    .domains
                    .into_iter()
                    .map(|d| TopologyDomainRequests {
                        values: d.values,
                        single_pod_requests: single.clone(),
                        count: d.count,
                    })
                    .collect(),
            });
        }
        if tas {
            set.delayed_topology_request = psa.delayed_topology_request;
        }
        // Reclaimable pods reduce the usage; a lower admitted count, from partial admission, stays.
        let left = counts.get(psa.name.as_str()).copied().unwrap_or(0);
        if left < set.count {
            set.requests.div(i64::from(set.count));
            set.requests.mul(i64::from(left));
            set.count = left;
        }
        totals.push(set);
    }
    totals
}

/// Applies resource transformations to the requests of one pod. Outputs are summed separately:
/// negative factors reduce other outputs only.
fn apply_resource_transformations(
    input: ExactList,
    transformations: &BTreeMap<ResourceName, ResourceTransformation>,
) -> ExactList {
    if !input.keys().any(|name| transformations.contains_key(name)) {
        return input;
    }
    let mut total = ExactList::new();
    let mut generated = ExactList::new();
    for (&name, &quantity) in &input {
        let Some(rule) = transformations.get(&name) else {
            total.insert(name, quantity);
            continue;
        };
        let factor = rule.multiply_by.and_then(|by| input.get(&by));
        let scaled = factor.map_or(quantity, |&f| quantity.times(f));
        for (&output, &per_unit) in &rule.outputs {
            let sum = generated.entry(output).or_default();
            *sum = sum.plus(scaled.times(per_unit));
        }
        if rule.strategy == TransformationStrategy::Retain {
            total.insert(name, quantity);
        }
    }
    for (name, quantity) in generated {
        let sum = total.entry(name).or_default();
        *sum = sum.plus(quantity.max(Decimal::ZERO));
    }
    total
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn topology_request_of_an_admission_has_the_untransformed_requests_of_one_pod() {
        let wl: Workload = serde_json::from_value(json!({
            "metadata": {"name": "tas"},
            "spec": {"podSets": [{
                "name": "main", "count": 2,
                "topologyRequest": {"required": "kubernetes.io/hostname"},
                "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {
                    "cpu": "1", "memory": "1Gi",
                    "example.com/gpu": "1", "networking.example.com/vpc": "1",
                }}}]}},
            }]},
            "status": {"admission": {"clusterQueue": "tas-cq", "podSetAssignments": [{
                "name": "main", "count": 2,
                "flavors": {"cpu": "tas", "memory": "tas", "example.com/logical-gpu": "quota"},
                "resourceUsage": {"cpu": "2", "memory": "2Gi", "example.com/logical-gpu": "2"},
                "topologyAssignment": {
                    "levels": ["kubernetes.io/hostname"],
                    "slices": [{
                        "domainCount": 2,
                        "valuesPerLevel": [{"individual": {"roots": ["node-a", "node-b"]}}],
                        "podCounts": {"universal": 1},
                    }],
                },
            }]}},
        }))
        .unwrap();
        let totals = total_requests_from_admission(&wl, &EngineConfig::default());
        let requests = |list: &[(&str, i64)]| -> Requests {
            list.iter().map(|&(name, n)| (name.into(), n)).collect()
        };
        assert_eq!(totals.len(), 1);
        assert_eq!(
            totals[0].requests,
            requests(&[
                ("cpu", 2000),
                ("memory", 2 << 30),
                ("example.com/logical-gpu", 2)
            ])
        );
        let domain = |node: &str| TopologyDomainRequests {
            values: vec![node.to_owned()],
            single_pod_requests: requests(&[
                ("cpu", 1000),
                ("memory", 1 << 30),
                ("example.com/gpu", 1),
                ("networking.example.com/vpc", 1),
            ]),
            count: 1,
        };
        let want = TopologyRequest {
            levels: vec!["kubernetes.io/hostname".to_owned()],
            domain_requests: vec![domain("node-a"), domain("node-b")],
        };
        assert_eq!(totals[0].topology_request.as_ref(), Some(&want));
    }
}
