//! Warnings about quotas and limits of ClusterQueues without effect.

use std::collections::BTreeMap;

use super::Lint;
use super::queue_fields::{amount, quotas, text};
use crate::Manifest;

/// Lending limits that do not limit.
pub(super) fn lending_limits(queue: &Manifest) -> Vec<Lint> {
    quotas(queue)
        .into_iter()
        .filter_map(|quota| {
            let limit = amount(quota.fields, "lendingLimit")?;
            if limit < quota.nominal() {
                return None;
            }
            let message = "lendingLimit has no effect: it is not below nominalQuota, all of which is lent without it";
            let finding = queue.warning(&format!("{}.lendingLimit", quota.path), message);
            Some(Lint {
                name: "unreachable-lending-limit",
                finding: finding.remedy("lower or remove it"),
            })
        })
        .collect()
}

/// A ClusterQueue in no cohort with a resource without quota.
pub(super) fn no_quota(queue: &Manifest) -> Vec<Lint> {
    if !text(&queue.object, "/spec/cohortName").is_empty() {
        return Vec::new();
    }
    let mut total: BTreeMap<&str, (i128, String)> = BTreeMap::new();
    let all = quotas(queue);
    for quota in &all {
        let sum = total.entry(quota.resource);
        sum.or_insert_with(|| (0, quota.path.clone())).0 += quota.nominal();
    }
    let empty = total.into_iter().filter(|(_, (nominal, _))| *nominal == 0);
    empty
        .map(|(resource, (_, path))| {
            let message = format!(
                "no workload that requests {resource} is ever admitted: its quota is 0, and there is no cohort to borrow from"
            );
            Lint {
                name: "queue-without-quota",
                finding: queue.warning(&format!("{path}.nominalQuota"), message),
            }
        })
        .collect()
}
