//! Resource amounts as integers: cpu in millicores, everything else in units. Requests and
//! allocatable amounts are compared in these.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use smallvec::SmallVec;

use kueue_lab_quantity::Quantity;

/// The cpu resource.
pub const CPU: &str = "cpu";
/// The memory resource.
pub const MEMORY: &str = "memory";
/// The node resource that limits its number of pods.
pub const PODS: &str = "pods";

/// Amounts by resource name, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAmounts(SmallVec<[(Arc<str>, i64); 4]>);

impl ResourceAmounts {
    /// Reads a resource list; an invalid quantity counts as zero.
    pub fn of(list: &BTreeMap<String, Text>) -> Self {
        let read = |(name, text): (&String, &Text)| {
            let quantity = Quantity::try_from(text).unwrap_or_default();
            let amount = if name == CPU {
                quantity.milli_value()
            } else {
                quantity.value()
            };
            (Arc::from(name.as_str()), amount)
        };
        Self(list.iter().map(read).collect())
    }

    /// The amount of one resource, by default zero.
    pub fn get(&self, name: &str) -> i64 {
        self.find(name).map_or(0, |at| self.0[at].1)
    }

    /// Sets the amount of one resource.
    pub fn set(&mut self, name: &str, amount: i64) {
        match self.position(name) {
            Ok(at) => self.0[at].1 = amount,
            Err(at) => self.0.insert(at, (Arc::from(name), amount)),
        }
    }

    /// Names and amounts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// Adds `other`, resource by resource.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    /// Subtracts `other`, resource by resource.
    pub fn sub(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
    }

    /// Takes the larger amount of each resource.
    pub fn max(&mut self, other: &Self) {
        self.combine(other, i64::max);
    }

    fn combine(&mut self, other: &Self, with: fn(i64, i64) -> i64) {
        for (name, amount) in &other.0 {
            match self.position(name) {
                Ok(at) => self.0[at].1 = with(self.0[at].1, *amount),
                Err(at) => self.0.insert(at, (name.clone(), with(0, *amount))),
            }
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.position(name).ok()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(n, _)| (**n).cmp(name))
    }
}

fn container_requests(container: &Container) -> ResourceAmounts {
    let requests = container
        .resources
        .as_ref()
        .and_then(|r| r.requests.as_ref());
    requests.map(ResourceAmounts::of).unwrap_or_default()
}

/// Whether an init container is a sidecar (`restartPolicy: Always`).
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// The effective request of a pod: the larger of all main containers with sidecars and of any init
/// container with the sidecars before it, plus the pod's overhead.
pub fn pod_requests(spec: &PodSpec) -> ResourceAmounts {
    let mut running = ResourceAmounts::default();
    for container in &spec.containers {
        running.add(&container_requests(container));
    }
    let (mut sidecars, mut peak) = (ResourceAmounts::default(), ResourceAmounts::default());
    for container in spec.init_containers.iter().flatten() {
        let mut now = container_requests(container);
        if is_sidecar(container) {
            sidecars.add(&now);
            now = sidecars.clone();
        } else {
            now.add(&sidecars);
        }
        peak.max(&now);
    }
    running.add(&sidecars);
    running.max(&peak);
    // Pod-level requests override those of the containers.
    if let Some(requests) = spec.resources.as_ref().and_then(|r| r.requests.as_ref()) {
        for (name, amount) in ResourceAmounts::of(requests).iter() {
            running.set(name, amount);
        }
    }
    if let Some(overhead) = &spec.overhead {
        running.add(&ResourceAmounts::of(overhead));
    }
    running
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn requests(spec: serde_json::Value) -> Vec<(String, i64)> {
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        let amounts = pod_requests(&spec);
        amounts.iter().map(|(n, a)| (n.to_string(), a)).collect()
    }

    #[test]
    fn effective_requests_are_the_peak() {
        let container = |cpu: &str| json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = container("200m");
        sidecar["restartPolicy"] = "Always".into();
        let both = json!({
            "containers": [container("1"), container("500m")],
            "initContainers": [sidecar, container("1400m")],
            "overhead": {"cpu": "50m", "memory": "1Mi"},
        });
        assert_eq!(
            requests(both),
            [("cpu".into(), 1750), ("memory".into(), 1 << 20)]
        );
        let peak = json!({
            "containers": [container("1")],
            "initContainers": [sidecar_of("200m"), container("3")],
        });
        assert_eq!(requests(peak), [("cpu".into(), 3200)]);
    }

    fn sidecar_of(cpu: &str) -> serde_json::Value {
        json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
    }
}
