//! [`QuotaPlace`]: the quotas and limits that a change can raise.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::changed_state::{AdmittingChange, QuotaIncrease};
use crate::EngineDriver;
use kueue_lab_admission::Engine;
use kueue_lab_admission::resources::{Decimal, ResourceFormatter, ResourceName, resource_value};
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, FlavorQuotas, ResourceGroup, ResourceQuota};

/// A quota or limit of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QuotaPlace {
    /// The nominal quota of a ClusterQueue.
    Nominal(String),
    /// The nominal quota of a Cohort, which may have no object.
    OfCohort(String),
    /// The borrowing limit of a ClusterQueue.
    BorrowingLimit(String),
    /// The lending limit of a ClusterQueue.
    LendingLimit(String),
}

/// An object with a higher quota or limit.
#[derive(Debug)]
pub(super) enum ChangedObject {
    ClusterQueue(Box<ClusterQueue>),
    Cohort(Box<Cohort>),
}

impl ChangedObject {
    /// Updates the engine of a driver.
    pub(super) fn apply(self, driver: &mut EngineDriver, now: Timestamp) {
        let engine = driver.engine_mut();
        match self {
            Self::ClusterQueue(queue) => engine.upsert_cluster_queue(queue.into(), now),
            Self::Cohort(cohort) => {
                // A Cohort in a cycle does not admit anything.
                let _ = engine.upsert_cohort(cohort.into(), now);
            }
        }
    }
}

impl QuotaPlace {
    /// The places that can matter for a workload of a ClusterQueue in a flavor: limits first, which cost
    /// nothing, then nominal quota.
    pub(super) fn all(engine: &Engine, queue: &str, flavor: &str) -> Vec<Self> {
        let mut places = vec![Self::BorrowingLimit(queue.to_owned())];
        let cohorts = engine.cache().workload_ancestors(queue).unwrap_or_default();
        if let Some(root) = cohorts.last() {
            let others = engine.cache().cluster_queues().map(|other| &other.name);
            let in_tree = others.filter(|other| {
                let path = engine.cache().workload_ancestors(other);
                &***other != queue && path.is_ok_and(|path| path.last() == Some(root))
            });
            let limited = in_tree.filter(|other| has_lending_limit(engine, other, flavor));
            places.extend(limited.map(|other| Self::LendingLimit(other.to_string())));
        }
        places.push(Self::Nominal(queue.to_owned()));
        places.extend(
            cohorts
                .iter()
                .map(|cohort| Self::OfCohort(cohort.to_string())),
        );
        places
    }

    /// The change that raises this place.
    pub(super) fn change(&self, flavor: &str, increases: Vec<QuotaIncrease>) -> AdmittingChange {
        let flavor = flavor.to_owned();
        match self.clone() {
            Self::Nominal(cluster_queue) => AdmittingChange::Quota {
                cluster_queue,
                flavor,
                increases,
            },
            Self::OfCohort(cohort) => AdmittingChange::CohortQuota {
                cohort,
                flavor,
                increases,
            },
            Self::BorrowingLimit(cluster_queue) => AdmittingChange::BorrowingLimit {
                cluster_queue,
                flavor,
                increases,
            },
            Self::LendingLimit(cluster_queue) => AdmittingChange::LendingLimit {
                cluster_queue,
                flavor,
                increases,
            },
        }
    }

    /// The object with `more` of the resources in a flavor, and the increases. `None` if there is nothing
    /// to raise, such as a limit that is not set.
    pub(super) fn raised(
        &self,
        engine: &Engine,
        flavor: &str,
        more: &[(ResourceName, i64)],
    ) -> Option<(ChangedObject, Vec<QuotaIncrease>)> {
        let formatter = &engine.config().formatter;
        let raise = |groups: &mut [ResourceGroup]| {
            let mut increases = Vec::new();
            let mut flavors = groups.iter_mut().flat_map(|group| &mut group.flavors);
            let quotas = flavors.find(|quotas| quotas.name == flavor)?;
            for &(resource, more) in more.iter().filter(|(_, more)| *more > 0) {
                let mut resources = quotas.resources.iter_mut();
                let quota = resources.find(|quota| quota.name == resource.as_str());
                let amount = quota.and_then(|quota| self.amount(quota));
                increases.extend(amount.map(|amount| raised(amount, resource, more, formatter)));
            }
            (!increases.is_empty()).then_some(increases)
        };
        match self {
            Self::OfCohort(name) => {
                let mut cohort = match engine.cohort(name) {
                    Some(cohort) => Cohort::clone(cohort),
                    None => {
                        let mut cohort = Cohort::default();
                        cohort.metadata.name = Some(name.clone());
                        cohort
                    }
                };
                add_flavor(&mut cohort.spec.resource_groups, flavor, more)?;
                let increases = raise(&mut cohort.spec.resource_groups)?;
                Some((ChangedObject::Cohort(Box::new(cohort)), increases))
            }
            Self::Nominal(name) | Self::BorrowingLimit(name) | Self::LendingLimit(name) => {
                let mut queue = ClusterQueue::clone(engine.cluster_queue(name)?);
                let increases = raise(&mut queue.spec.resource_groups)?;
                Some((ChangedObject::ClusterQueue(Box::new(queue)), increases))
            }
        }
    }

    /// The quantity of this place in the quota of a resource.
    fn amount<'a>(&self, quota: &'a mut ResourceQuota) -> Option<&'a mut Quantity> {
        match self {
            Self::Nominal(_) | Self::OfCohort(_) => Some(&mut quota.nominal_quota),
            Self::BorrowingLimit(_) => quota.borrowing_limit.as_mut(),
            Self::LendingLimit(_) => quota.lending_limit.as_mut(),
        }
    }
}

fn has_lending_limit(engine: &Engine, queue: &Arc<str>, flavor: &str) -> bool {
    let groups = engine
        .cluster_queue(queue)
        .map(|queue| &queue.spec.resource_groups);
    let mut flavors = groups
        .into_iter()
        .flatten()
        .flat_map(|group| &group.flavors);
    flavors.any(|quotas| {
        let mut resources = quotas.resources.iter();
        quotas.name == flavor && resources.any(|quota| quota.lending_limit.is_some())
    })
}

/// Adds a flavor without quota for the resources, unless it is there. `None` if the resources are of
/// several groups.
fn add_flavor(
    groups: &mut Vec<ResourceGroup>,
    flavor: &str,
    resources: &[(ResourceName, i64)],
) -> Option<()> {
    let mut flavors = groups.iter().flat_map(|group| &group.flavors);
    if flavors.any(|quotas| quotas.name == flavor) {
        return Some(());
    }
    let names: Vec<String> = resources.iter().map(|(name, _)| name.to_string()).collect();
    let covers = |group: &ResourceGroup, name: &String| group.covered_resources.contains(name);
    let touched = groups
        .iter_mut()
        .find(|group| names.iter().any(|name| covers(group, name)));
    let group = match touched {
        Some(group) if names.iter().all(|name| covers(group, name)) => group,
        Some(_) => return None,
        None => {
            groups.push(ResourceGroup {
                covered_resources: names,
                ..ResourceGroup::default()
            });
            groups.last_mut()?
        }
    };
    let quota = |name: &String| ResourceQuota {
        name: name.clone(),
        nominal_quota: Quantity("0".to_owned()),
        ..ResourceQuota::default()
    };
    group.flavors.push(FlavorQuotas {
        name: flavor.to_owned(),
        resources: group.covered_resources.iter().map(quota).collect(),
    });
    Some(())
}

fn raised(
    amount: &mut Quantity,
    resource: ResourceName,
    more: i64,
    formatter: &ResourceFormatter,
) -> QuotaIncrease {
    let from = resource_value(resource, Decimal::parse_lossy(amount));
    let to = rounded_up(resource, from.saturating_add(more));
    *amount = formatter.quantity(resource, to);
    QuotaIncrease {
        resource: resource.as_str().to_owned(),
        from: formatter.text(resource, from),
        to: formatter.text(resource, to),
    }
}

/// An amount of quota as it would be written: whole CPUs, and whole mebibytes of memory.
fn rounded_up(resource: ResourceName, amount: i64) -> i64 {
    let unit = match resource.as_str() {
        "cpu" => 1_000,
        "memory" | "ephemeral-storage" => 1 << 20,
        _ => 1,
    };
    let units = amount / unit + i64::from(amount % unit > 0);
    units.saturating_mul(unit)
}
