//! What the children of a cohort lend.

use crate::flavor_resource::FlavorResourceId;
use crate::resources::Amount;

/// The quota that the children of a cohort lend for one flavor resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LentQuota {
    pub(crate) fr: FlavorResourceId,
    /// The children that have the flavor resource, and those of them that lend unlimited quota.
    pub(crate) lenders: u32,
    unlimited: u32,
    /// The sum of the others.
    sum: i128,
}

impl LentQuota {
    pub(crate) fn new(fr: FlavorResourceId) -> Self {
        Self {
            fr,
            lenders: 0,
            unlimited: 0,
            sum: 0,
        }
    }

    /// The sum of what the children lend; none if no child has the flavor resource.
    pub(crate) fn amount(&self) -> Option<Amount> {
        if self.lenders == 0 {
            return None;
        }
        if self.unlimited > 0 {
            return Some(Amount::UNLIMITED);
        }
        let bounds = (i128::from(i64::MIN), i128::from(i64::MAX));
        let sum = i64::try_from(self.sum.clamp(bounds.0, bounds.1));
        Some(sum.map_or(Amount::UNLIMITED, Amount::new))
    }

    /// Adds what a child lends.
    pub(crate) fn add(&mut self, lent: Option<Amount>) {
        if let Some(lent) = lent {
            self.lenders += 1;
            match lent.is_unlimited() {
                true => self.unlimited += 1,
                false => self.sum += i128::from(lent.value()),
            }
        }
    }

    /// Removes what a child lent.
    pub(crate) fn remove(&mut self, lent: Option<Amount>) {
        if let Some(lent) = lent {
            self.lenders = self.lenders.saturating_sub(1);
            match lent.is_unlimited() {
                true => self.unlimited = self.unlimited.saturating_sub(1),
                false => self.sum -= i128::from(lent.value()),
            }
        }
    }
}
