//! One node of the quota forest: the quotas, subtree quota and usage of a ClusterQueue or cohort.
//!
//! Must not know its parent; see [`super::forest`].

use crate::resources::{Amount, FlavorResourceId, ResourceName};

/// What a node is given of one resource in one flavor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// What it may use by right.
    pub nominal: Amount,
    /// How much more it may take from its cohort; none means as much as there is.
    pub borrowing_limit: Option<Amount>,
    /// How much of its own it lends; none means all of it.
    pub lending_limit: Option<Amount>,
}

/// The state of one (flavor, resource) pair at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlavorResourceQuota {
    pub fr: FlavorResourceId,
    /// The node's own quota, if it declares the pair.
    pub quota: Option<Quota>,
    /// Its quota and what its children lend it; none when neither declares the pair.
    pub subtree: Option<Amount>,
    /// What counts against the subtree quota.
    pub usage: Amount,
    /// The part of the subtree quota that is never lent to the parent.
    pub local_quota: Amount,
}

impl FlavorResourceQuota {
    pub fn new(fr: FlavorResourceId) -> Self {
        FlavorResourceQuota {
            fr,
            quota: None,
            subtree: None,
            usage: Amount::ZERO,
            local_quota: Amount::ZERO,
        }
    }

    pub fn subtree_quota(&self) -> Amount {
        self.subtree.unwrap_or(Amount::ZERO)
    }

    /// What is left of the part that is never lent.
    pub fn local_available(&self) -> Amount {
        self.local_quota.minus(self.usage).or_zero()
    }

    /// Works out the part never lent from the subtree quota.
    pub fn update_local_quota(&mut self) {
        self.local_quota = match self.quota.and_then(|q| q.lending_limit) {
            Some(limit) => self.subtree_quota().minus(limit).or_zero(),
            None => Amount::ZERO,
        };
    }
}

/// The quotas and usage of a node, ordered by pair.
#[derive(Clone, Debug, Default)]
pub struct ResourceNode {
    flavor_resources: Vec<FlavorResourceQuota>,
    /// What the subtree of this node could hold at most, by resource; worked out when asked for.
    pub(super) lendable: Option<Vec<(ResourceName, Amount)>>,
}

impl ResourceNode {
    pub(super) fn flavor_resource(&self, fr: FlavorResourceId) -> Option<&FlavorResourceQuota> {
        // Few pairs: walking the sorted list is as fast as bisecting it.
        if self.flavor_resources.len() <= 8 {
            return self.flavor_resources.iter().find(|c| c.fr == fr);
        }
        self.flavor_resources
            .binary_search_by_key(&fr, |c| c.fr)
            .ok()
            .map(|i| &self.flavor_resources[i])
    }

    pub(super) fn flavor_resource_mut(&mut self, fr: FlavorResourceId) -> &mut FlavorResourceQuota {
        let i = match self.flavor_resources.binary_search_by_key(&fr, |c| c.fr) {
            Ok(i) => i,
            Err(i) => {
                self.flavor_resources
                    .insert(i, FlavorResourceQuota::new(fr));
                i
            }
        };
        &mut self.flavor_resources[i]
    }

    pub(super) fn flavor_resources(&self) -> &[FlavorResourceQuota] {
        &self.flavor_resources
    }

    /// The node's own quota for a pair; nothing when it declares none.
    pub fn quota(&self, fr: FlavorResourceId) -> Quota {
        self.flavor_resource(fr)
            .and_then(|c| c.quota)
            .unwrap_or_default()
    }

    /// The pairs the node declares, with their quotas.
    pub fn quotas(&self) -> impl Iterator<Item = (FlavorResourceId, Quota)> + '_ {
        self.flavor_resources
            .iter()
            .filter_map(|c| Some((c.fr, c.quota?)))
    }

    /// Its quota and what its children lend it.
    pub fn subtree_quota(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr)
            .map_or(Amount::ZERO, FlavorResourceQuota::subtree_quota)
    }

    /// The pairs of the subtree with their subtree quota.
    pub fn subtree_quotas(&self) -> impl Iterator<Item = (FlavorResourceId, Amount)> + '_ {
        self.flavor_resources
            .iter()
            .filter_map(|c| Some((c.fr, c.subtree?)))
    }

    /// What counts against the subtree quota.
    pub fn usage(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr).map_or(Amount::ZERO, |c| c.usage)
    }

    /// All usage of the node.
    pub fn usages(&self) -> impl Iterator<Item = (FlavorResourceId, Amount)> + '_ {
        self.flavor_resources.iter().map(|c| (c.fr, c.usage))
    }

    /// What is left of the quota that is never lent.
    pub fn local_available(&self, fr: FlavorResourceId) -> Amount {
        self.flavor_resource(fr)
            .map_or(Amount::ZERO, FlavorResourceQuota::local_available)
    }

    /// Replaces the quotas; true when they differ from before.
    pub(super) fn set_quotas(&mut self, quotas: &[(FlavorResourceId, Quota)]) -> bool {
        let before: Vec<(FlavorResourceId, Quota)> = self.quotas().collect();
        for cell in &mut self.flavor_resources {
            cell.quota = None;
        }
        for &(fr, quota) in quotas {
            self.flavor_resource_mut(fr).quota = Some(quota);
        }
        !before.iter().copied().eq(self.quotas())
    }

    /// Starts the subtree quota over from the node's own quotas; for a cohort the usage, which is
    /// its children's, as well.
    pub(super) fn reset_subtree_quota(&mut self, is_cohort: bool) {
        self.lendable = None;
        if is_cohort {
            self.flavor_resources.retain(|c| c.quota.is_some());
        }
        for cell in &mut self.flavor_resources {
            cell.subtree = cell.quota.map(|q| q.nominal);
            if is_cohort {
                cell.usage = Amount::ZERO;
            }
            cell.update_local_quota();
        }
    }
}
