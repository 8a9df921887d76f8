//! Amounts of resources as whole numbers: cpu in thousandths, everything else in units. What pods
//! ask for and nodes have is compared in these. Must not know what asks or has.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use smallvec::SmallVec;

use kueue_lab_quantity::Quantity;

/// The resource that counts processors.
pub const CPU: &str = "cpu";
/// The resource that counts bytes of memory.
pub const MEMORY: &str = "memory";
/// The resource of a node that bounds how many pods it holds.
pub const PODS: &str = "pods";

/// Amounts by resource name, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAmounts(SmallVec<[(Arc<str>, i64); 4]>);

impl ResourceAmounts {
    /// Reads a resource list; what is no quantity counts as nothing.
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

    /// The amount of one resource, zero when there is none.
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

    /// Names and amounts, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// Adds `other`, resource by resource.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    /// Takes `other` away, resource by resource.
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

/// Whether an init container keeps running beside the main containers (a sidecar).
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// What the scheduler sets aside for a pod: the main containers and sidecars together, or an init
/// container with the sidecars before it where that is more, and the pod's overhead.
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
    // Requests of the pod as a whole take the place of what its containers say.
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
    fn a_pod_asks_for_what_it_needs_at_its_busiest() {
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
