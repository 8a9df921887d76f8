//! Quota of one resource in one flavor.

use crate::text::Amount;

/// The quota of one resource in one flavor in the spec of a ClusterQueue or Cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The nominal quota.
    pub nominal: Amount,
    /// The borrowing limit; `None` for no limit.
    pub borrowing_limit: Option<Amount>,
    /// The lending limit; `None` for no limit.
    pub lending_limit: Option<Amount>,
}

/// Quota status of one resource in one flavor at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaStatus {
    /// Nominal quota; for a Cohort including that of its subtree.
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
    /// Quota that can be used in addition now.
    pub available: Amount,
    /// Quota that can be used at most, if nothing else is used.
    pub potential_available: Amount,
    /// The quota in the spec.
    pub quota: Quota,
}
