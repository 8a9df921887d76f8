//! [`Requests`]: integer resource requests of a pod, a pod set or a node's capacity.
//!
//! Must not depend on flavors or quota.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use super::{Decimal, ResourceFormatter, ResourceName};

/// A resource list as in Kubernetes objects.
pub type ResourceList = BTreeMap<String, Quantity>;

/// Requests by resource, in integer units: milli-units for `cpu`, whole units for all other
/// resources. A small vector sorted by [`ResourceName`]; arithmetic saturates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(SmallVec<[(ResourceName, i64); 4]>);

impl Requests {
    /// No requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Converts a resource list. Invalid quantities are zero, values beyond 64 bits are clamped,
    /// fractions are rounded up.
    pub(crate) fn from_list(list: &ResourceList) -> Self {
        list.iter()
            .map(|(name, quantity)| {
                let name = ResourceName::new(name);
                (name, written_value(name, quantity))
            })
            .collect()
    }

    /// Converts exact quantities.
    pub(crate) fn from_exact(list: &BTreeMap<ResourceName, Decimal>) -> Self {
        list.iter()
            .map(|(&name, &quantity)| (name, resource_value(name, quantity)))
            .collect()
    }

    /// The requested amount of one resource, zero when it is not requested.
    pub fn get(&self, name: ResourceName) -> i64 {
        match self.position(name) {
            Ok(i) => self.0[i].1,
            Err(_) => 0,
        }
    }

    /// Whether the resource is listed, possibly with zero.
    pub fn contains(&self, name: ResourceName) -> bool {
        self.position(name).is_ok()
    }

    /// Sets the amount of one resource.
    pub fn set(&mut self, name: ResourceName, value: i64) {
        match self.position(name) {
            Ok(i) => self.0[i].1 = value,
            Err(i) => self.0.insert(i, (name, value)),
        }
    }

    /// Adds to the amount of one resource.
    pub(crate) fn add_one(&mut self, name: ResourceName, value: i64) {
        match self.position(name) {
            Ok(i) => self.0[i].1 = self.0[i].1.saturating_add(value),
            Err(i) => self.0.insert(i, (name, value)),
        }
    }

    fn position(&self, name: ResourceName) -> Result<usize, usize> {
        // For few entries a linear search is faster than a binary one.
        for (i, (n, _)) in self.0.iter().enumerate() {
            match (*n).cmp(&name) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Ok(i),
                std::cmp::Ordering::Greater => return Err(i),
            }
        }
        Err(self.0.len())
    }

    /// The number of resources.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no resource is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each resource with its amount, in the order of [`ResourceName`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ResourceName, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Requests) {
        self.merge(other, i64::saturating_add);
    }

    /// Subtracts every amount of `other`; amounts may become negative.
    pub fn sub(&mut self, other: &Requests) {
        self.merge(other, i64::saturating_sub);
    }

    fn merge(&mut self, other: &Requests, f: fn(i64, i64) -> i64) {
        let mut i = 0;
        for &(name, value) in &other.0 {
            while i < self.0.len() && self.0[i].0 < name {
                i += 1;
            }
            match self.0.get_mut(i) {
                Some((n, v)) if *n == name => *v = f(*v, value),
                _ => self.0.insert(i, (name, f(0, value))),
            }
            i += 1;
        }
    }

    /// Multiplies every amount.
    pub(crate) fn mul(&mut self, factor: i64) {
        for (_, v) in &mut self.0 {
            *v = v.saturating_mul(factor);
        }
    }

    /// Divides every amount, truncating. Division by zero is ignored: the requests of zero pods are
    /// zero.
    pub(crate) fn div(&mut self, divisor: i64) {
        for (_, v) in &mut self.0 {
            *v = v.checked_div(divisor).unwrap_or(*v);
        }
    }

    /// The requests of `count` pods.
    #[must_use]
    pub fn scaled_up(&self, count: i64) -> Requests {
        let mut r = self.clone();
        r.mul(count);
        r
    }

    /// The requests of one of `count` pods.
    #[must_use]
    pub fn scaled_down(&self, count: i64) -> Requests {
        let mut r = self.clone();
        r.div(count);
        r
    }

    /// Replaces negative amounts by zero.
    pub(crate) fn floor_to_zero(&mut self) {
        for (_, v) in &mut self.0 {
            *v = (*v).max(0);
        }
    }

    /// The resources with more than `other` lists, in alphabetical order; resources that `other`
    /// does not list are ignored.
    pub(crate) fn greater_keys(&self, other: &Requests) -> Vec<ResourceName> {
        let mut keys: Vec<ResourceName> = self
            .iter()
            .filter(|&(name, value)| other.contains(name) && value > other.get(name))
            .map(|(name, _)| name)
            .collect();
        keys.sort_by_key(|name| name.as_str());
        keys
    }

    /// The number of times that these requests fit into `capacity`; see
    /// [`Requests::count_in_with_limiting_resource`].
    pub(crate) fn count_in(&self, capacity: &Requests) -> i32 {
        self.count_in_with_limiting_resource(capacity).0
    }

    /// The number of times that these requests fit into `capacity`, and the limiting resource (the
    /// first by name among equals). Negative capacity counts as none; empty requests fit zero
    /// times.
    pub(crate) fn count_in_with_limiting_resource(
        &self,
        capacity: &Requests,
    ) -> (i32, Option<ResourceName>) {
        let mut best: Option<(i32, ResourceName)> = None;
        for (name, value) in self.iter() {
            let count = if value == 0 {
                i32::MAX
            } else {
                let times = capacity.get(name).checked_div(value).unwrap_or(i64::MAX);
                i32::try_from(times.max(0)).unwrap_or(i32::MAX)
            };
            let better = match best {
                None => true,
                Some((c, n)) => count < c || (count == c && name.as_str() < n.as_str()),
            };
            if better {
                best = Some((count, name));
            }
        }
        match best {
            Some((count, name)) => (count, Some(name)),
            None => (0, None),
        }
    }

    /// Converts to a resource list with canonical quantities.
    pub fn to_list(&self, formatter: &ResourceFormatter) -> ResourceList {
        self.iter()
            .map(|(name, v)| (name.as_str().to_owned(), formatter.quantity(name, v)))
            .collect()
    }
}

impl FromIterator<(ResourceName, i64)> for Requests {
    fn from_iter<T: IntoIterator<Item = (ResourceName, i64)>>(iter: T) -> Self {
        let mut r = Requests::new();
        for (name, value) in iter {
            r.set(name, value);
        }
        r
    }
}

impl Serialize for Requests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let by_name: BTreeMap<&str, i64> = self.iter().map(|(n, v)| (n.as_str(), v)).collect();
        by_name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Requests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_name = BTreeMap::<ResourceName, i64>::deserialize(deserializer)?;
        Ok(by_name.into_iter().collect())
    }
}

/// The integer value of a serialized quantity. Plain integers, the common case, need no exact
/// arithmetic.
fn written_value(name: ResourceName, quantity: &Quantity) -> i64 {
    match plain(&quantity.0) {
        Some(whole) if name.is_cpu() => whole * 1000,
        Some(whole) => whole,
        None => resource_value(name, Decimal::parse_lossy(quantity)),
    }
}

/// An integer of at most fifteen digits.
fn plain(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    text.bytes().try_fold(0, |n, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| n * 10 + i64::from(digit))
    })
}

/// The integer value of a quantity of `name`: rounded up, clamped to 64 bits.
pub fn resource_value(name: ResourceName, quantity: Decimal) -> i64 {
    if name.is_cpu() {
        quantity.milli_value()
    } else {
        quantity.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests(pairs: &[(&str, i64)]) -> Requests {
        pairs
            .iter()
            .map(|&(n, v)| (ResourceName::new(n), v))
            .collect()
    }

    #[test]
    fn from_list_uses_each_resources_unit() {
        let list: ResourceList = [
            ("cpu", "1.5"),
            ("memory", "1Ki"),
            ("example.com/gpu", "1500m"),
        ]
        .into_iter()
        .map(|(n, q)| (n.to_owned(), Quantity(q.to_owned())))
        .collect();
        let r = Requests::from_list(&list);
        assert_eq!(r.get("cpu".into()), 1500);
        assert_eq!(r.get("memory".into()), 1024);
        assert_eq!(r.get("example.com/gpu".into()), 2);
    }

    #[test]
    fn counting_names_the_limiting_resource() {
        let pod = requests(&[("cpu", 1000), ("memory", 10)]);
        let node = requests(&[("cpu", 4000), ("memory", 25)]);
        assert_eq!(
            pod.count_in_with_limiting_resource(&node),
            (2, Some("memory".into()))
        );
        assert_eq!(requests(&[]).count_in(&node), 0);
        assert_eq!(pod.count_in(&requests(&[("cpu", -5), ("memory", 100)])), 0);
    }

    #[test]
    fn dividing_by_zero_pods_keeps_amounts() {
        let mut r = requests(&[("cpu", 0)]);
        r.div(0);
        assert_eq!(r, requests(&[("cpu", 0)]));
    }

    proptest! {
        #[test]
        fn serialized_values_are_exact(text in "[0-9]{0,17}|[+-]?[0-9]{1,6}([.][0-9]{0,4})?(m|k|Mi|e3)?") {
            let quantity = Quantity(text);
            for name in ["cpu", "memory"] {
                let name = ResourceName::new(name);
                let exact = resource_value(name, Decimal::parse_lossy(&quantity));
                prop_assert_eq!(written_value(name, &quantity), exact);
            }
        }

        #[test]
        fn add_then_sub_restores(a in proptest::collection::vec((0usize..6, -1000i64..1000), 0..6), b in proptest::collection::vec((0usize..6, -1000i64..1000), 0..6)) {
            let names = ["cpu", "memory", "pods", "a.io/x", "b.io/y", "hugepages-2Mi"];
            let a: Requests = a.into_iter().map(|(i, v)| (names[i].into(), v)).collect();
            let b: Requests = b.into_iter().map(|(i, v)| (names[i].into(), v)).collect();
            let mut c = a.clone();
            c.add(&b);
            prop_assert!(c.0.windows(2).all(|w| w[0].0 < w[1].0));
            c.sub(&b);
            for (n, v) in c.iter() {
                prop_assert_eq!(v, a.get(n));
            }
        }
    }
}
