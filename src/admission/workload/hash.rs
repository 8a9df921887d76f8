//! Scheduling equivalence: Workloads of one shape fare alike.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::ordering::effective_priority;
use super::predicates::annotation;
use super::totals::PodSetResources;
use crate::admission::gates::Gates;
use crate::api::constants as c;
use crate::api::v1beta2::Workload;
use k8s_openapi::api::core::v1::{Container, PodSpec};

/// Identifies the Workloads that differ in nothing the scheduler looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EquivalenceHash {
    /// Not computed: equivalence is switched off.
    #[default]
    Unknown,
    /// The first 64 bits of a digest of the shape.
    Known(u64),
}

impl EquivalenceHash {
    /// The hash of a Workload: priority, pod shapes, counts, requests and topology requests.
    pub fn of(wl: &Workload, totals: &[PodSetResources], gates: &Gates) -> Self {
        if !gates.scheduling_equivalence_hashing {
            return EquivalenceHash::Unknown;
        }
        let pod_sets: Vec<Value> = wl
            .spec
            .pod_sets
            .iter()
            .enumerate()
            .map(|(i, ps)| {
                let total = totals.get(i);
                json!({
                    "name": ps.name,
                    "spec": ps.template.spec.as_ref().map(pod_shape),
                    "count": total.map_or(ps.count, |t| t.count),
                    "requests": total.map(|t| &t.requests),
                    "minCount": ps.min_count,
                    "topologyRequest": ps.topology_request,
                })
            })
            .collect();
        let mut shape = json!({"podSets": pod_sets, "priority": effective_priority(wl, gates)});
        if gates.concurrent_admission
            && let Some(flavors) = annotation(wl, c::WORKLOAD_ALLOWED_RESOURCE_FLAVORS_ANNOTATION)
        {
            shape["allowedFlavors"] = json!(flavors);
        }
        let digest = Sha256::digest(shape.to_string().as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        EquivalenceHash::Known(u64::from_be_bytes(first))
    }

    /// Whether the hash was computed.
    pub fn is_known(self) -> bool {
        self != EquivalenceHash::Unknown
    }
}

/// What of a pod the scheduler looks at.
fn pod_shape(spec: &PodSpec) -> Value {
    json!({
        "initContainers": spec.init_containers.as_deref().map(containers_shape),
        "containers": containers_shape(&spec.containers),
        "nodeSelector": spec.node_selector,
        "affinity": spec.affinity,
        "tolerations": spec.tolerations,
        "runtimeClassName": spec.runtime_class_name,
        "priority": spec.priority,
        "topologySpreadConstraints": spec.topology_spread_constraints,
        "overhead": spec.overhead,
        "resourceClaims": spec.resource_claims,
        "resources": spec.resources.as_ref().map(|r| &r.requests),
    })
}

fn containers_shape(containers: &[Container]) -> Value {
    let shapes = containers
        .iter()
        .map(|c| json!({"requests": c.resources.as_ref().map(|r| &r.requests), "ports": c.ports}));
    shapes.collect()
}
