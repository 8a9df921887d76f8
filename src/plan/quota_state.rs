//! The quota and usage of ClusterQueues.

use std::collections::BTreeMap;

use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
use serde::Serialize;
use serde_json::Value;

/// A resource in a flavor of a ClusterQueue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaKey {
    /// The cohort; empty without one.
    pub cohort: String,
    /// The ClusterQueue.
    pub cluster_queue: String,
    /// The flavor.
    pub flavor: String,
    /// The resource.
    pub resource: String,
}

/// Quota and usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaAmounts {
    /// The nominal quota.
    pub(crate) nominal: Quantity,
    /// The reserved quota.
    pub(crate) used: Quantity,
    /// The part of it that is borrowed from the cohort.
    pub(crate) borrowed: Quantity,
}

/// The quota and usage of a ClusterQueue.
pub(crate) fn quota_of(queue: &Value, quotas: &mut BTreeMap<QuotaKey, QuotaAmounts>) {
    let mut amounts: BTreeMap<(String, String), QuotaAmounts> = BTreeMap::new();
    for group in queue.list("/spec/resourceGroups") {
        for flavor in group.list("/flavors") {
            for resource in flavor.list("/resources") {
                let key = (flavor.text("/name").into(), resource.text("/name").into());
                amounts.entry(key).or_default().nominal =
                    Quantity::or_zero(resource.get("nominalQuota"));
            }
        }
    }
    for flavor in queue.list("/status/flavorsReservation") {
        for resource in flavor.list("/resources") {
            let key = (flavor.text("/name").into(), resource.text("/name").into());
            let amounts = amounts.entry(key).or_default();
            amounts.used = Quantity::or_zero(resource.get("total"));
            amounts.borrowed = Quantity::or_zero(resource.get("borrowed"));
        }
    }
    for ((flavor, resource), amounts) in amounts {
        let key = QuotaKey {
            cohort: queue.text("/spec/cohortName").to_owned(),
            cluster_queue: queue.name().to_owned(),
            flavor,
            resource,
        };
        quotas.insert(key, amounts);
    }
}
