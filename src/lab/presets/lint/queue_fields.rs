//! Reads fields of the objects that warnings are about.

use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use crate::Manifest;

/// A policy that is set and not `Never`.
pub(super) fn policy<'v>(queue: &'v Manifest, pointer: &str) -> Option<&'v str> {
    let policy = queue.object.text(pointer);
    (!policy.is_empty() && policy != "Never").then_some(policy)
}

/// The quotas of a ClusterQueue or Cohort.
pub(super) fn quotas(queue: &Manifest) -> Vec<QuotaFields<'_>> {
    let mut quotas = Vec::new();
    for (g, group) in queue.object.list("/spec/resourceGroups").iter().enumerate() {
        for (f, flavor) in group.list("/flavors").iter().enumerate() {
            for (r, quota) in flavor.list("/resources").iter().enumerate() {
                let path = format!("spec.resourceGroups[{g}].flavors[{f}].resources[{r}]");
                quotas.push(QuotaFields {
                    path,
                    flavor: flavor.text("/name"),
                    resource: quota.text("/name"),
                    fields: quota,
                });
            }
        }
    }
    quotas
}

pub(super) fn amount(quota: &Value, field: &str) -> Option<i128> {
    let value = quota.get(field).filter(|value| !value.is_null())?;
    Quantity::of(value).map(Quantity::nanos)
}

/// A quota of a ClusterQueue or Cohort.
pub(super) struct QuotaFields<'v> {
    /// The path of the quota.
    pub(super) path: String,
    /// The flavor.
    pub(super) flavor: &'v str,
    /// The resource.
    pub(super) resource: &'v str,
    /// The fields.
    pub(super) fields: &'v Value,
}

impl QuotaFields<'_> {
    /// The nominal quota in nanos.
    pub(super) fn nominal(&self) -> i128 {
        amount(self.fields, "nominalQuota").unwrap_or_default()
    }
}
