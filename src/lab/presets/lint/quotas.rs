//! Warnings about quotas and limits of ClusterQueues without effect.

use std::collections::BTreeMap;

use super::Lint;
use super::engine_quotas::EngineQuotas;
use super::queue_fields::{QuotaFields, amount, quotas};
use crate::Manifest;
use kueue_lab_json::ValueExt;

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

/// Lending limits of Cohorts that do not limit.
pub(super) fn lending_limits_of_cohort(cohort: &Manifest, engine: &EngineQuotas) -> Vec<Lint> {
    if cohort.object.text("/spec/parentName").is_empty() {
        return Vec::new();
    }
    let all = quotas(cohort).into_iter();
    let without_effect = all.filter(|quota| !engine.holds_back(cohort, quota));
    without_effect
        .map(|quota| {
            let message = "lendingLimit has no effect: it is not below the quota of the Cohort and what its members lend, all of which is lent without it";
            let finding = cohort.warning(&format!("{}.lendingLimit", quota.path), message);
            Lint {
                name: "unreachable-lending-limit",
                finding: finding.remedy("lower or remove it"),
            }
        })
        .collect()
}

/// Resources that a ClusterQueue can use in no flavor.
pub(super) fn no_quota(queue: &Manifest, engine: &EngineQuotas) -> Vec<Lint> {
    let mut of_resource: BTreeMap<&str, Vec<QuotaFields<'_>>> = BTreeMap::new();
    for quota in quotas(queue) {
        of_resource.entry(quota.resource).or_default().push(quota);
    }
    let has_cohort = !queue.object.text("/spec/cohortName").is_empty();
    let mut lints = Vec::new();
    for (resource, quotas) in of_resource {
        let usable = quotas.iter().map(|quota| engine.can_use(queue, quota));
        if usable.into_iter().any(|usable| usable != Some(false)) {
            continue;
        }
        let is_limited = |q: &QuotaFields<'_>| amount(q.fields, "borrowingLimit") == Some(0);
        let why = match has_cohort {
            false => "there is no cohort to borrow from",
            true if quotas.iter().all(is_limited) => "its borrowingLimit is 0",
            true => "there is no quota to borrow in the cohort",
        };
        let message = format!(
            "no workload that requests {resource} is ever admitted: its quota is 0, and {why}"
        );
        let path = format!("{}.nominalQuota", quotas[0].path);
        lints.push(Lint {
            name: "queue-without-quota",
            finding: queue.warning(&path, message),
        });
    }
    lints
}
