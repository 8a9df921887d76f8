//! Quota and usage before and after a change.

use std::collections::BTreeSet;

use serde::Serialize;

use super::cluster_state::ClusterState;
use super::quota_state::{QuotaAmounts, QuotaKey};

/// Quota and usage of a resource before and after; absent amounts are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaChange {
    /// The ClusterQueue with its cohort before the change, or after it if it is new; the flavor and the
    /// resource.
    #[serde(flatten)]
    pub key: QuotaKey,
    /// The nominal quota before and after.
    pub nominal: [String; 2],
    /// The reserved quota before and after.
    pub used: [String; 2],
    /// The borrowed part of it before and after.
    pub borrowed: [String; 2],
}

/// The resources whose quota or usage differs, by cohort.
pub(crate) fn quota_changes(before: &ClusterState, after: &ClusterState) -> Vec<QuotaChange> {
    let keys: BTreeSet<&QuotaKey> = before.quotas.keys().chain(after.quotas.keys()).collect();
    let changes = keys.into_iter().filter_map(|key| {
        let (old, new) = (before.quotas.get(key), after.quotas.get(key));
        let both = |amount: fn(&QuotaAmounts) -> String| {
            [old, new].map(|amounts| amounts.map(amount).unwrap_or_default())
        };
        (old != new).then(|| QuotaChange {
            key: key.clone(),
            nominal: both(|amounts| amounts.nominal.to_string()),
            used: both(|amounts| amounts.used.to_string()),
            borrowed: both(|amounts| amounts.borrowed.to_string()),
        })
    });
    changes.collect()
}
