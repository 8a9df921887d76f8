//! Quota and usage before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::cluster_state::ClusterState;
use super::quota_state::{QuotaAmounts, QuotaKey};

/// Quota and usage of a resource in a flavor before and after; absent amounts are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaChange {
    /// The cohort after the change, or before it if the ClusterQueue is deleted; empty without one. For the
    /// quota of a cohort, the cohort itself.
    pub cohort: String,
    /// The cohort before the change, if the ClusterQueue was in another one or in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohort_before: Option<String>,
    /// The ClusterQueue; empty for the quota of a cohort.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_queue: String,
    /// The flavor.
    pub flavor: String,
    /// The resource.
    pub resource: String,
    /// The nominal quota before and after.
    pub nominal: [String; 2],
    /// The reserved quota before and after.
    pub used: [String; 2],
    /// The borrowed part of it before and after.
    pub borrowed: [String; 2],
}

/// The resources of ClusterQueues whose quota or usage differs, by cohort.
pub(crate) fn quota_changes(before: &ClusterState, after: &ClusterState) -> Vec<QuotaChange> {
    let changes = differences(&before.quotas.queues, &after.quotas.queues);
    let changes = changes.map(|(key, old, new)| {
        let cohort = |amounts: Option<&QuotaAmounts>| amounts.map(|a| a.cohort.clone());
        let (from, to) = (cohort(old), cohort(new));
        let cohort = to.clone().or_else(|| from.clone()).unwrap_or_default();
        QuotaChange {
            cohort_before: from.filter(|from| to.is_some_and(|to| to != *from)),
            cluster_queue: key.owner.clone(),
            ..change(&cohort, key, old, new)
        }
    });
    let mut changes: Vec<QuotaChange> = changes.collect();
    changes.sort_by(|a, b| a.cohort.cmp(&b.cohort));
    changes
}

/// The resources of cohorts whose quota or usage differs, with all that is below them.
pub(crate) fn cohort_changes(before: &ClusterState, after: &ClusterState) -> Vec<QuotaChange> {
    let (old, new) = (before.quotas.cohorts(), after.quotas.cohorts());
    let changes = differences(&old, &new);
    changes
        .map(|(key, old, new)| change(&key.owner, key, old, new))
        .collect()
}

/// The keys with amounts that differ.
fn differences<'s>(
    before: &'s BTreeMap<QuotaKey, QuotaAmounts>,
    after: &'s BTreeMap<QuotaKey, QuotaAmounts>,
) -> impl Iterator<
    Item = (
        &'s QuotaKey,
        Option<&'s QuotaAmounts>,
        Option<&'s QuotaAmounts>,
    ),
> {
    let keys: BTreeSet<&QuotaKey> = before.keys().chain(after.keys()).collect();
    let pairs = keys.into_iter();
    let pairs = pairs.map(|key| (key, before.get(key), after.get(key)));
    pairs.filter(|(_, old, new)| old != new)
}

fn change(
    cohort: &str,
    key: &QuotaKey,
    old: Option<&QuotaAmounts>,
    new: Option<&QuotaAmounts>,
) -> QuotaChange {
    let both = |amount: fn(&QuotaAmounts) -> String| {
        [old, new].map(|amounts| amounts.map(amount).unwrap_or_default())
    };
    QuotaChange {
        cohort: cohort.to_owned(),
        cohort_before: None,
        cluster_queue: String::new(),
        flavor: key.flavor.clone(),
        resource: key.resource.clone(),
        nominal: both(|amounts| amounts.nominal.to_string()),
        used: both(|amounts| amounts.used.to_string()),
        borrowed: both(|amounts| amounts.borrowed.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::quota_state::QuotaState;

    fn state(queues: &[(&str, &str, u32, u32)], parent: &str) -> ClusterState {
        let mut quotas = QuotaState::default();
        for (name, cohort, nominal, used) in queues {
            let borrowed = used.saturating_sub(*nominal);
            quotas.add_queue(&json!({
                "metadata": {"name": name},
                "spec": {"cohortName": cohort, "resourceGroups": [{"flavors": [
                    {"name": "f", "resources": [{"name": "cpu", "nominalQuota": nominal}]}]}]},
                "status": {"flavorsReservation": [
                    {"name": "f", "resources": [{"name": "cpu", "total": used, "borrowed": borrowed}]}]},
            }));
        }
        quotas.add_cohort(&json!({
            "metadata": {"name": "team"},
            "spec": {"parentName": parent, "resourceGroups": [{"flavors": [
                {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 1}]}]}]},
        }));
        ClusterState {
            quotas,
            ..ClusterState::default()
        }
    }

    fn line(change: &QuotaChange) -> String {
        let QuotaChange {
            cohort,
            cohort_before,
            cluster_queue,
            nominal,
            used,
            borrowed,
            ..
        } = change;
        format!("{cohort} {cohort_before:?} {cluster_queue:?} {nominal:?} {used:?} {borrowed:?}")
    }

    #[test]
    fn a_queue_that_changes_its_cohort_is_one_change() {
        let before = state(&[("a", "", 8, 8), ("b", "team", 4, 0)], "");
        let after = state(
            &[("a", "team", 6, 8), ("b", "team", 4, 0), ("c", "", 1, 0)],
            "all",
        );
        let lines: Vec<String> = quota_changes(&before, &after).iter().map(line).collect();
        assert_eq!(
            lines,
            [
                r#" None "c" ["", "1"] ["", "0"] ["", "0"]"#,
                r#"team Some("") "a" ["8", "6"] ["8", "8"] ["0", "2"]"#,
            ]
        );
        let lines: Vec<String> = cohort_changes(&before, &after).iter().map(line).collect();
        assert_eq!(
            lines,
            [
                r#"all None "" ["", "11"] ["", "8"] ["", "2"]"#,
                r#"team None "" ["5", "11"] ["0", "8"] ["0", "2"]"#,
            ]
        );
    }
}
