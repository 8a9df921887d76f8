//! Scheduling equivalence hashing: Workloads with the same hash have the same scheduling outcome.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Container, ContainerPort, PodResourceClaim, PodSpec, Toleration,
    TopologySpreadConstraint,
};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::ordering::effective_priority;
use super::predicates::annotation;
use super::total_requests::PodSetResources;
use crate::feature_gates::Gates;
use crate::resources::{Requests, ResourceList};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{PodSet, PodSetTopologyRequest, Workload};

/// The scheduling hash of a Workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EquivalenceHash {
    /// Not computed: scheduling equivalence hashing is disabled.
    #[default]
    Unknown,
    /// The first 64 bits of the digest.
    Known(u64),
}

impl EquivalenceHash {
    /// The hash of a Workload: priority, pod shapes, counts, requests and topology requests.
    pub fn of(wl: &Workload, totals: &[PodSetResources], gates: &Gates) -> Self {
        if !gates.scheduling_equivalence_hashing {
            return EquivalenceHash::Unknown;
        }
        let allowed = c::WORKLOAD_ALLOWED_RESOURCE_FLAVORS_ANNOTATION;
        let input = HashInput {
            pod_sets: Each(|| {
                let pod_sets = wl.spec.pod_sets.iter().enumerate();
                pod_sets.map(|(i, ps)| PodSetShape::of(ps, totals.get(i)))
            }),
            priority: effective_priority(wl, gates),
            allowed_flavors: annotation(wl, allowed).filter(|_| gates.concurrent_admission),
        };
        let mut digest = Digested(Sha256::new());
        // A serialization error truncates the input, identically for the same object.
        let _ = serde_json::to_writer(&mut digest, &input);
        let mut first = [0; 8];
        first.copy_from_slice(&digest.0.finalize()[..8]);
        EquivalenceHash::Known(u64::from_be_bytes(first))
    }

    /// Whether the hash was computed.
    pub fn is_known(self) -> bool {
        self != EquivalenceHash::Unknown
    }
}

/// A sequence that is serialized from an iterator.
struct Each<F>(F);

impl<F, I> Serialize for Each<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// A writer into the digest.
struct Digested(Sha256);

impl std::io::Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Serialize)]
struct HashInput<'a, P> {
    pod_sets: P,
    priority: i64,
    allowed_flavors: Option<&'a str>,
}

#[derive(Serialize)]
struct PodSetShape<'a> {
    name: &'a str,
    spec: Option<PodShape<'a>>,
    count: i32,
    requests: Option<&'a Requests>,
    min_count: Option<i32>,
    topology_request: Option<&'a PodSetTopologyRequest>,
}

impl<'a> PodSetShape<'a> {
    fn of(ps: &'a PodSet, total: Option<&'a PodSetResources>) -> Self {
        PodSetShape {
            name: &ps.name,
            spec: ps.template.spec.as_ref().map(PodShape::of),
            count: total.map_or(ps.count, |t| t.count),
            requests: total.map(|t| &t.requests),
            min_count: ps.min_count,
            topology_request: ps.topology_request.as_ref(),
        }
    }
}

/// The part of a pod spec that affects scheduling.
#[derive(Serialize)]
struct PodShape<'a> {
    init_containers: Vec<ContainerShape<'a>>,
    containers: Vec<ContainerShape<'a>>,
    node_selector: Option<&'a BTreeMap<String, String>>,
    affinity: Option<&'a Affinity>,
    tolerations: Option<&'a [Toleration]>,
    runtime_class_name: Option<&'a str>,
    priority: Option<i32>,
    topology_spread_constraints: Option<&'a [TopologySpreadConstraint]>,
    overhead: Option<&'a ResourceList>,
    resource_claims: Option<&'a [PodResourceClaim]>,
    requests: Option<&'a ResourceList>,
}

#[derive(Serialize)]
struct ContainerShape<'a> {
    requests: Option<&'a ResourceList>,
    ports: Option<&'a [ContainerPort]>,
}

impl<'a> PodShape<'a> {
    fn of(spec: &'a PodSpec) -> Self {
        let containers = |of: &'a [Container]| of.iter().map(ContainerShape::of).collect();
        PodShape {
            init_containers: containers(spec.init_containers.as_deref().unwrap_or_default()),
            containers: containers(&spec.containers),
            node_selector: spec.node_selector.as_ref(),
            affinity: spec.affinity.as_ref(),
            tolerations: spec.tolerations.as_deref(),
            runtime_class_name: spec.runtime_class_name.as_deref(),
            priority: spec.priority,
            topology_spread_constraints: spec.topology_spread_constraints.as_deref(),
            overhead: spec.overhead.as_ref(),
            resource_claims: spec.resource_claims.as_deref(),
            requests: spec.resources.as_ref().and_then(|r| r.requests.as_ref()),
        }
    }
}

impl<'a> ContainerShape<'a> {
    fn of(container: &'a Container) -> Self {
        let resources = container.resources.as_ref();
        ContainerShape {
            requests: resources.and_then(|r| r.requests.as_ref()),
            ports: container.ports.as_deref(),
        }
    }
}
