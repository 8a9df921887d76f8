//! The quota and usage of ClusterQueues and of the cohorts that they are in.

use std::collections::BTreeMap;

use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
use kueue_lab_quota_tree::CohortHierarchy;
use serde_json::Value;

/// A resource in a flavor of a ClusterQueue or of a cohort.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QuotaKey {
    /// The ClusterQueue or the cohort.
    pub(crate) owner: String,
    /// The flavor.
    pub(crate) flavor: String,
    /// The resource.
    pub(crate) resource: String,
}

/// Quota and usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaAmounts {
    /// The cohort of a ClusterQueue; empty without one.
    pub(crate) cohort: String,
    /// The nominal quota.
    pub(crate) nominal: Quantity,
    /// The reserved quota.
    pub(crate) used: Quantity,
    /// The part of it that is borrowed from the cohort.
    pub(crate) borrowed: Quantity,
}

/// The quota and usage of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotaState {
    /// Of ClusterQueues.
    pub(crate) queues: BTreeMap<QuotaKey, QuotaAmounts>,
    /// Of Cohorts alone.
    own: BTreeMap<QuotaKey, QuotaAmounts>,
    /// ClusterQueues and Cohorts.
    hierarchy: CohortHierarchy,
}

impl QuotaState {
    /// Adds a ClusterQueue.
    pub(crate) fn add_queue(&mut self, queue: &Value) {
        let cohort = queue.text("/spec/cohortName");
        let id = self.hierarchy.insert_cluster_queue(queue.name());
        self.hierarchy.set_parent(id, cohort);
        let mut amounts = nominal_quotas(queue, cohort);
        for flavor in queue.list("/status/flavorsReservation") {
            for resource in flavor.list("/resources") {
                let amounts = amounts.entry(key(queue, flavor, resource)).or_default();
                cohort.clone_into(&mut amounts.cohort);
                amounts.used = Quantity::or_zero(resource.get("total"));
                amounts.borrowed = Quantity::or_zero(resource.get("borrowed"));
            }
        }
        self.queues.extend(amounts);
    }

    /// Adds a Cohort.
    pub(crate) fn add_cohort(&mut self, cohort: &Value) {
        self.own.extend(nominal_quotas(cohort, ""));
        let id = self.hierarchy.insert_cohort(cohort.name());
        let parent = cohort.text("/spec/parentName");
        self.hierarchy.set_parent(id, parent);
    }

    /// The quota of each cohort with all ClusterQueues and Cohorts below it.
    pub(crate) fn cohorts(&self) -> BTreeMap<QuotaKey, QuotaAmounts> {
        let mut totals: BTreeMap<QuotaKey, QuotaAmounts> = BTreeMap::new();
        let of_queues = self
            .queues
            .iter()
            .map(|(key, a)| (key, a, a.cohort.as_str()));
        let of_cohorts = self.own.iter().map(|(key, a)| (key, a, key.owner.as_str()));
        for (key, amounts, cohort) in of_queues.chain(of_cohorts) {
            for cohort in self.ancestors(cohort) {
                let key = QuotaKey {
                    owner: cohort.to_owned(),
                    ..key.clone()
                };
                let total = totals.entry(key).or_default();
                total.nominal += amounts.nominal;
                total.used += amounts.used;
                total.borrowed += amounts.borrowed;
            }
        }
        totals
    }

    /// A cohort and those above it; without the latter if it is in a cycle.
    fn ancestors(&self, cohort: &str) -> impl Iterator<Item = &str> {
        let id = self.hierarchy.cohort(cohort);
        let with_above = |id| std::iter::once(id).chain(self.hierarchy.ancestors(id));
        let ids = id.into_iter().flat_map(with_above);
        ids.map(|id| &*self.hierarchy[id].name)
    }
}

fn key(owner: &Value, flavor: &Value, resource: &Value) -> QuotaKey {
    QuotaKey {
        owner: owner.name().to_owned(),
        flavor: flavor.text("/name").to_owned(),
        resource: resource.text("/name").to_owned(),
    }
}

/// The quotas in the specification of a ClusterQueue or Cohort.
fn nominal_quotas(object: &Value, cohort: &str) -> BTreeMap<QuotaKey, QuotaAmounts> {
    let mut amounts = BTreeMap::new();
    for group in object.list("/spec/resourceGroups") {
        for flavor in group.list("/flavors") {
            for resource in flavor.list("/resources") {
                let amount = QuotaAmounts {
                    cohort: cohort.to_owned(),
                    nominal: Quantity::or_zero(resource.get("nominalQuota")),
                    ..QuotaAmounts::default()
                };
                amounts.insert(key(object, flavor, resource), amount);
            }
        }
    }
    amounts
}
