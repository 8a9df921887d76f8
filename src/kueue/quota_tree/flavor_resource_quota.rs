//! The quota and the usage of a node for one flavor resource.

use crate::flavor_resource::FlavorResourceId;
use crate::resources::Amount;

/// The quota of a node for one flavor resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The nominal quota.
    pub nominal: Amount,
    /// The maximum quota above nominal that may be borrowed; none means no limit.
    pub borrowing_limit: Option<Amount>,
    /// The maximum nominal quota that may be lent; none means all of it.
    pub lending_limit: Option<Amount>,
}

/// Quota and usage of a node for one flavor resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlavorResourceQuota {
    pub fr: FlavorResourceId,
    /// The quota of the node, if its spec has the flavor resource.
    pub quota: Option<Quota>,
    /// The nominal quota and what the children lend; none when no node of the subtree has the
    /// flavor resource.
    pub subtree: Option<Amount>,
    /// The usage, including that of children above their local quota.
    pub usage: Amount,
    /// The part of the subtree quota that is not lent to the parent.
    pub local_quota: Amount,
}

impl FlavorResourceQuota {
    pub(crate) fn new(fr: FlavorResourceId) -> Self {
        FlavorResourceQuota {
            fr,
            quota: None,
            subtree: None,
            usage: Amount::ZERO,
            local_quota: Amount::ZERO,
        }
    }

    pub(crate) fn subtree_quota(&self) -> Amount {
        self.subtree.unwrap_or(Amount::ZERO)
    }

    /// The unused local quota.
    pub(crate) fn local_available(&self) -> Amount {
        self.local_quota.minus(self.usage).or_zero()
    }

    /// Computes the subtree quota from the quota of the node and the quota that its children lend.
    pub(crate) fn update_subtree_quota(&mut self, lent: Option<Amount>) {
        let nominal = self.quota.map(|quota| quota.nominal);
        self.subtree = match (nominal, lent) {
            (Some(nominal), Some(lent)) => Some(nominal.plus(lent)),
            (nominal, lent) => nominal.or(lent),
        };
        self.update_local_quota();
    }

    /// Computes the local quota from the subtree quota.
    fn update_local_quota(&mut self) {
        self.local_quota = match self.quota.and_then(|q| q.lending_limit) {
            Some(limit) => self.subtree_quota().minus(limit).or_zero(),
            None => Amount::ZERO,
        };
    }
}
