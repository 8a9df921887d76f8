//! Flavor resources, interned to small numbers, and amounts by flavor resource.
//!
//! Must not depend on queues or cohorts.

use std::collections::{BTreeMap, HashMap};

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::resources::{Amount, FlavorName, ResourceName};
use foldhash::fast::FixedState;

/// A resource in a flavor: the unit of quota and usage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlavorResource {
    /// The ResourceFlavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: ResourceName,
}

impl std::fmt::Display for FlavorResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.flavor, self.resource)
    }
}

impl Serialize for FlavorResource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The interned number of a [`FlavorResource`]. Numbers are in the order of interning; visible
/// output is sorted by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlavorResourceId(u32);

impl FlavorResourceId {
    /// The number, for indexing.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The interned flavor resources of a tree. Entries are never removed.
#[derive(Clone, Debug, Default)]
pub struct FlavorResourceTable {
    pairs: Vec<FlavorResource>,
    /// Never iterated.
    by_flavor: HashMap<FlavorName, SmallVec<[(ResourceName, FlavorResourceId); 4]>, FixedState>,
}

impl FlavorResourceTable {
    /// The number of a flavor resource, interned if it is new.
    pub fn intern(&mut self, flavor: &str, resource: ResourceName) -> FlavorResourceId {
        if let Some(id) = self.get(flavor, resource) {
            return id;
        }
        let flavor: FlavorName = match self.by_flavor.get_key_value(flavor) {
            Some((name, _)) => name.clone(),
            None => flavor.into(),
        };
        // A cluster with 2^32 distinct pairs does not exist.
        let id = FlavorResourceId(self.pairs.len() as u32);
        self.pairs.push(FlavorResource {
            flavor: flavor.clone(),
            resource,
        });
        self.by_flavor
            .entry(flavor)
            .or_default()
            .push((resource, id));
        id
    }

    /// The number of a flavor resource, if it is interned.
    pub fn get(&self, flavor: &str, resource: ResourceName) -> Option<FlavorResourceId> {
        self.by_flavor
            .get(flavor)?
            .iter()
            .find(|(name, _)| *name == resource)
            .map(|&(_, id)| id)
    }

    /// The flavor resource of a number.
    pub fn pair(&self, id: FlavorResourceId) -> &FlavorResource {
        &self.pairs[id.index()]
    }

    /// The resource of a number.
    pub fn resource(&self, id: FlavorResourceId) -> ResourceName {
        self.pairs[id.index()].resource
    }

    /// Amounts by flavor resource, for display and comparison.
    pub fn named(&self, amounts: &FlavorResourceQuantities) -> BTreeMap<FlavorResource, Amount> {
        amounts
            .iter()
            .map(|(fr, v)| (self.pair(fr).clone(), v))
            .collect()
    }
}

/// Amounts by flavor resource: a small vector sorted by [`FlavorResourceId`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorResourceQuantities(SmallVec<[(FlavorResourceId, Amount); 4]>);

impl FlavorResourceQuantities {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// The amount of a flavor resource, zero if absent.
    pub fn get(&self, fr: FlavorResourceId) -> Amount {
        // For few entries a linear search is as fast as a binary one.
        let found = match self.0.len() <= 8 {
            true => self.0.iter().position(|&(f, _)| f == fr),
            false => self.0.binary_search_by_key(&fr, |&(f, _)| f).ok(),
        };
        found.map_or(Amount::ZERO, |at| self.0[at].1)
    }

    /// Adds to the amount of a flavor resource.
    pub fn add(&mut self, fr: FlavorResourceId, amount: Amount) {
        match self.0.binary_search_by_key(&fr, |&(f, _)| f) {
            Ok(i) => self.0[i].1 = self.0[i].1.plus(amount),
            Err(i) => self.0.insert(i, (fr, amount)),
        }
    }

    /// Sets the amount of a flavor resource.
    pub fn set(&mut self, fr: FlavorResourceId, amount: Amount) {
        match self.0.binary_search_by_key(&fr, |&(f, _)| f) {
            Ok(i) => self.0[i].1 = amount,
            Err(i) => self.0.insert(i, (fr, amount)),
        }
    }

    /// The flavor resources with their amounts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (FlavorResourceId, Amount)> + '_ {
        self.0.iter().copied()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of flavor resources.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl FromIterator<(FlavorResourceId, Amount)> for FlavorResourceQuantities {
    fn from_iter<T: IntoIterator<Item = (FlavorResourceId, Amount)>>(iter: T) -> Self {
        let mut amounts = FlavorResourceQuantities::new();
        for (fr, v) in iter {
            amounts.add(fr, v);
        }
        amounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flavor_resources_keep_their_number() {
        let mut frs = FlavorResourceTable::default();
        let cpu = ResourceName::cpu();
        let a = frs.intern("spot", cpu);
        let b = frs.intern("on-demand", cpu);
        assert_ne!(a, b);
        assert_eq!(frs.intern("spot", cpu), a);
        assert_eq!(frs.pair(b).to_string(), "on-demand/cpu");
        assert_eq!(frs.get("spot", "memory".into()), None);
    }
}
