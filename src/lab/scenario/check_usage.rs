//! Checks usage and shares of ClusterQueues and Cohorts.

use std::collections::BTreeMap;

use kueue_lab_quantity::Quantity;

use super::comparison::Comparison;
use super::mismatch::Mismatch;
use super::observed_state::ObservedState;

impl ObservedState {
    /// Checks the usage of a ClusterQueue, or the borrowed part of it.
    pub(super) fn check_usage(
        &self,
        cluster_queue: &str,
        flavor: Option<&str>,
        resources: &BTreeMap<String, Comparison>,
        is_borrowed: bool,
    ) -> Result<(), Mismatch> {
        let Some(used) = self.usage(cluster_queue, flavor, is_borrowed) else {
            let message = format!("there is no ClusterQueue {cluster_queue}");
            return Err(Mismatch::new(message));
        };
        let wrong = resources.iter().filter(|(resource, amount)| {
            let value = used.get(resource.as_str());
            !value.is_some_and(|value| amount.holds_nanos(*value))
        });
        let wrong: Vec<_> = wrong.map(|(r, _)| usage_text(&used, r)).collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Mismatch::new(wrong.join(", "))),
        }
    }

    /// The usage of some resources as text.
    pub(super) fn describe_usage<'r>(
        &self,
        cluster_queue: &str,
        flavor: Option<&str>,
        resources: impl Iterator<Item = &'r String>,
        is_borrowed: bool,
    ) -> String {
        let used = self.usage(cluster_queue, flavor, is_borrowed);
        let used = used.unwrap_or_default();
        let texts: Vec<_> = resources.map(|r| usage_text(&used, r)).collect();
        texts.join(", ")
    }

    /// The usage of a ClusterQueue by resource in billionths, in a flavor or in all.
    fn usage(
        &self,
        cluster_queue: &str,
        flavor: Option<&str>,
        is_borrowed: bool,
    ) -> Option<BTreeMap<&str, i128>> {
        let queue = self.named("ClusterQueue", cluster_queue)?;
        let field = if is_borrowed { "borrowed" } else { "total" };
        let mut used: BTreeMap<&str, i128> = BTreeMap::new();
        let flavors = queue["status"]["flavorsUsage"].as_array();
        for of_flavor in flavors.into_iter().flatten() {
            if flavor.is_some_and(|flavor| of_flavor["name"] != flavor) {
                continue;
            }
            for resource in of_flavor["resources"].as_array().into_iter().flatten() {
                let name = resource["name"].as_str().unwrap_or_default();
                let amount = Quantity::or_zero(resource.get(field)).nanos();
                *used.entry(name).or_default() += amount;
            }
        }
        Some(used)
    }

    /// Checks the weighted share of a ClusterQueue or Cohort.
    pub(super) fn check_share(
        &self,
        kind: &str,
        name: &str,
        share: &Comparison,
    ) -> Result<(), Mismatch> {
        match self.share(kind, name)? {
            value if share.holds_nanos(i128::from(value) * 1_000_000_000) => Ok(()),
            value => Err(Mismatch::new(format!("the share is {value}"))),
        }
    }

    /// The weighted share of a ClusterQueue or Cohort.
    ///
    /// # Errors
    /// It does not exist or has none.
    pub(super) fn share(&self, kind: &str, name: &str) -> Result<i64, Mismatch> {
        let Some(object) = self.named(kind, name) else {
            return Err(Mismatch::new(format!("there is no {kind} {name}")));
        };
        let share = object["status"]["fairSharing"]["weightedShare"].as_i64();
        share.ok_or_else(|| Mismatch::new(format!("{kind} {name} has no share")))
    }
}

fn usage_text(used: &BTreeMap<&str, i128>, resource: &str) -> String {
    match used.get(resource) {
        Some(value) => format!("{resource} is {}", decimal(*value)),
        None => format!("the ClusterQueue has no {resource}"),
    }
}

/// An amount in billionths as a decimal number.
fn decimal(nanos: i128) -> String {
    let (whole, rest) = (nanos / 1_000_000_000, (nanos % 1_000_000_000).abs());
    match rest {
        0 => whole.to_string(),
        rest => format!("{whole}.{:09}", rest)
            .trim_end_matches('0')
            .to_owned(),
    }
}
