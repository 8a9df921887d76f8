//! Quota status of one resource in one flavor at a node.

use kueue_lab_reason::resources::ResourceName;

use super::{CohortTree, QuotaNode};
use crate::model::queues::FlavorResource;
use crate::text::Amount;

/// Quota status of one resource in one flavor at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaStatus {
    /// Nominal quota; for a Cohort with the quota that its subtree lends.
    pub nominal: Amount,
    /// Usage; may exceed `nominal`.
    pub usage: Amount,
    /// The borrowed part of the usage.
    pub borrowed: Amount,
    /// Lower bound of the quota lent to others.
    pub lent_min: Amount,
    /// Upper bound of the quota lent to others. With several lenders Kueue does not define whose
    /// quota is borrowed.
    pub lent_max: Amount,
    /// Quota that can be used in addition now; negative if usage exceeds the quota.
    pub available: Amount,
    /// Quota that can be used at most, if nothing else is used.
    pub potential_available: Amount,
    /// The borrowing limit in the spec; `None` for no limit.
    pub borrowing_limit: Option<Amount>,
    /// The lending limit in the spec; `None` for no limit.
    pub lending_limit: Option<Amount>,
}

impl CohortTree {
    /// The quota status of a flavor and resource at a node.
    pub(crate) fn quota_status(&self, quota_node: &QuotaNode, fr: &FlavorResource) -> QuotaStatus {
        let resource = ResourceName::new(&fr.resource);
        let hierarchy = &self.hierarchy;
        let fr = hierarchy.frs.get(&fr.flavor, resource);
        let (Some(&id), Some(fr)) = (self.ids.get(quota_node), fr) else {
            return QuotaStatus::default();
        };
        let shown = |amount| Amount::of_quota(resource, amount);
        let resources = &hierarchy[id].resources;
        let quota = resources.quota(fr);
        let lent = self.lent(id, fr);
        QuotaStatus {
            nominal: shown(resources.subtree_quota(fr)),
            usage: shown(resources.usage(fr)),
            borrowed: shown(self.borrowed(id, fr)),
            lent_min: shown(lent.least),
            lent_max: shown(lent.most),
            available: shown(hierarchy.available(id, fr)),
            potential_available: shown(hierarchy.potential_available(id, fr)),
            borrowing_limit: quota.borrowing_limit.map(shown),
            lending_limit: quota.lending_limit.map(shown),
        }
    }
}
