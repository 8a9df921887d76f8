//! Resource amounts as integers: cpu in millicores, everything else in units. Requests and
//! allocatable amounts are compared in these.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use smallvec::SmallVec;

use crate::resource;
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
            (Arc::from(name.as_str()), whole_units(name, quantity))
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

/// The requests of a pod in whole units: exact sums, rounded up.
pub fn pod_requests(spec: &PodSpec) -> ResourceAmounts {
    let requests = resource::pod_requests(spec);
    let amounts = requests
        .into_iter()
        .map(|(name, quantity)| (Arc::from(name), whole_units(name, quantity)));
    ResourceAmounts(amounts.collect())
}

/// Millicores of cpu, units of anything else; rounded up.
fn whole_units(name: &str, quantity: Quantity) -> i64 {
    if name == CPU {
        quantity.milli_value()
    } else {
        quantity.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_are_exact_before_they_are_rounded() {
        let container =
            json!({"name": "c", "resources": {"requests": {"cpu": "100u", "memory": "500m"}}});
        let spec = json!({"containers": [container, container], "overhead": {"cpu": "1"}});
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        let amounts = pod_requests(&spec);
        assert_eq!(
            amounts.iter().collect::<Vec<_>>(),
            [("cpu", 1001), ("memory", 1)]
        );
    }
}
