//! The scheduler's view of a pod, computed once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodAffinityTerm, PodSpec, Toleration};
use kube::ResourceExt;

use kueue_lab_component_helpers::node_affinity::RequiredNodeAffinity;
use kueue_lab_component_helpers::resource::is_restartable_init_container;
use kueue_lab_component_helpers::resource_amounts::{ResourceAmounts, pod_requests};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::resource_claims;

/// A pod with precomputed requests and ports.
#[derive(Debug)]
pub(crate) struct PodInfo {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its effective requests.
    pub requests: ResourceAmounts,
    /// Its node selector and required node affinity.
    pub node_affinity: RequiredNodeAffinity,
    /// Its priority.
    pub priority: i32,
    /// Requested extended resources that DeviceClasses back.
    pub device_resources: Vec<String>,
    /// Host ports: address, protocol, port.
    pub ports: Vec<(String, String, i32)>,
    /// The pod itself.
    pub pod: Arc<Pod>,
}

impl PodInfo {
    /// Computes the view of a pod.
    pub(crate) fn of(pod: Arc<Pod>) -> Self {
        let empty = PodSpec::default();
        let spec = pod.spec.as_ref().unwrap_or(&empty);
        Self {
            key: ObjectKey::of(&*pod),
            requests: pod_requests(spec),
            node_affinity: RequiredNodeAffinity::of(spec),
            device_resources: Vec::new(),
            priority: spec.priority.unwrap_or(0),
            ports: host_ports(spec),
            pod,
        }
    }

    /// Notes which of its requests DeviceClasses back.
    pub(super) fn set_device_resources(&mut self, backed: &BTreeSet<String>) {
        let names = self.requests.iter().map(|(name, _)| name);
        let names = names.filter(|name| backed.contains(*name));
        self.device_resources = names.map(str::to_owned).collect();
    }

    /// Whether it needs ResourceClaims.
    pub(super) fn has_claims(&self) -> bool {
        !resource_claims::of_pod(&self.pod).is_empty()
    }

    /// Whether devices have to be allocated for it on some nodes.
    pub(super) fn needs_devices(&self) -> bool {
        self.has_claims() || !self.device_resources.is_empty()
    }

    /// Whether its spec names a ResourceClaim.
    pub(super) fn uses_claim(&self, name: &str) -> bool {
        let mut claims = resource_claims::of_pod(&self.pod).iter();
        claims.any(|claim| claim.resource_claim_name.as_deref() == Some(name))
    }

    /// Its spec, if it has one.
    pub(super) fn spec(&self) -> Option<&PodSpec> {
        self.pod.spec.as_ref()
    }

    /// Its uid.
    pub(super) fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Its labels.
    pub(super) fn labels(&self) -> &BTreeMap<String, String> {
        self.pod.labels()
    }

    pub(super) fn tolerations(&self) -> &[Toleration] {
        let spec = self.spec();
        spec.and_then(|s| s.tolerations.as_deref())
            .unwrap_or_default()
    }

    /// Whether it is being deleted.
    pub(super) fn terminating(&self) -> bool {
        self.pod.metadata.deletion_timestamp.is_some()
    }

    /// Its nominated node.
    pub(super) fn nominated(&self) -> Option<&str> {
        let status = self.pod.status.as_ref()?;
        status.nominated_node_name.as_deref()
    }

    /// Required affinity terms.
    pub(super) fn affinity_terms(&self) -> &[PodAffinityTerm] {
        self.spec()
            .and_then(|s| s.affinity.as_ref()?.pod_affinity.as_ref())
            .and_then(|a| {
                a.required_during_scheduling_ignored_during_execution
                    .as_deref()
            })
            .unwrap_or_default()
    }

    /// Required anti-affinity terms.
    pub(super) fn anti_affinity_terms(&self) -> &[PodAffinityTerm] {
        self.spec()
            .and_then(|s| s.affinity.as_ref()?.pod_anti_affinity.as_ref())
            .and_then(|a| {
                a.required_during_scheduling_ignored_during_execution
                    .as_deref()
            })
            .unwrap_or_default()
    }

    /// Whether other pods can make a node infeasible for it.
    pub(super) fn depends_on_other_pods(&self) -> bool {
        let spread = self
            .spec()
            .and_then(|s| s.topology_spread_constraints.as_ref());
        !self.affinity_terms().is_empty()
            || !self.anti_affinity_terms().is_empty()
            || spread.is_some_and(|s| !s.is_empty())
    }

    /// A key that is equal for pods that fit the same nodes. Labels are included only if pods have
    /// affinity or spread constraints.
    pub(super) fn equivalence_class(&self, with_labels: bool) -> String {
        let Some(spec) = self.spec() else {
            return String::new();
        };
        let policy = spec.preemption_policy.as_deref().unwrap_or_default();
        let requests: Vec<(&str, i64)> = self.requests.iter().collect();
        let mut class = serde_json::json!([
            self.priority,
            policy,
            self.nominated(),
            requests,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            self.ports,
            spec.node_name,
        ]);
        if let serde_json::Value::Array(parts) = &mut class
            && (with_labels || self.depends_on_other_pods())
        {
            parts.push(serde_json::json!([
                self.key.namespace,
                self.labels(),
                spec.topology_spread_constraints,
            ]));
        }
        class.to_string()
    }
}

fn host_ports(spec: &PodSpec) -> Vec<(String, String, i32)> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|c| is_restartable_init_container(c));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|c| c.ports.iter().flatten());
    ports
        .filter_map(|p| {
            let port = p.host_port.filter(|p| *p > 0)?;
            let ip = p.host_ip.clone().filter(|ip| !ip.is_empty());
            let protocol = p.protocol.clone().unwrap_or("TCP".into());
            Some((ip.unwrap_or("0.0.0.0".into()), protocol, port))
        })
        .collect()
}
