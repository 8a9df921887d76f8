//! [`ObjectQuota`]: the quotas and limits that a change can raise.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::admitting_change::{AdmittingChange, QuotaIncrease};
use super::changed_state::{cohorts_of_tree, tree_of};
use crate::EngineDriver;
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, FlavorQuotas, ResourceGroup, ResourceQuota};
use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::resources::{Decimal, ResourceName, resource_value};
use kueue_lab_reason::{QuotaField, QuotaObject};

/// A quota or limit of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObjectQuota {
    /// A field of a ClusterQueue or Cohort, which may have no object.
    Field {
        object: QuotaObject,
        name: String,
        field: QuotaField,
    },
    /// The nominal quota of a ClusterQueue for a resource that it does not cover.
    Uncovered(String),
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
            Self::ClusterQueue(queue) => engine.apply(ObjectChange::upsert(*queue), now),
            Self::Cohort(cohort) => engine.apply(ObjectChange::upsert(*cohort), now),
        }
    }

    fn resource_groups(&self) -> &[ResourceGroup] {
        match self {
            Self::ClusterQueue(queue) => &queue.spec.resource_groups,
            Self::Cohort(cohort) => &cohort.spec.resource_groups,
        }
    }

    fn resource_groups_mut(&mut self) -> &mut Vec<ResourceGroup> {
        match self {
            Self::ClusterQueue(queue) => &mut queue.spec.resource_groups,
            Self::Cohort(cohort) => &mut cohort.spec.resource_groups,
        }
    }
}

impl ObjectQuota {
    pub(super) fn of_queue(name: &str, field: QuotaField) -> Self {
        Self::Field {
            object: QuotaObject::ClusterQueue,
            name: name.to_owned(),
            field,
        }
    }

    pub(super) fn of_cohort(name: &str, field: QuotaField) -> Self {
        Self::Field {
            object: QuotaObject::Cohort,
            name: name.to_owned(),
            field,
        }
    }

    /// The fields that can matter for a workload of a ClusterQueue in a flavor, those that most often admit
    /// first.
    pub(super) fn all(engine: &Engine, queue: &str, flavor: &str) -> Vec<Self> {
        use QuotaField::{BorrowingLimit, LendingLimit, NominalQuota};
        let cohorts = engine.cache().workload_ancestors(queue).unwrap_or_default();
        let of_path = |field| {
            let of_cohorts = cohorts.iter().map(move |name| Self::of_cohort(name, field));
            std::iter::once(Self::of_queue(queue, field)).chain(of_cohorts)
        };
        let mut fields: Vec<Self> = of_path(NominalQuota).collect();
        let mut limits: Vec<Self> = of_path(BorrowingLimit).collect();
        if !cohorts.is_empty() {
            let others = cohorts_of_tree(engine, queue).into_iter();
            // The lending limit of a Cohort does not limit the ClusterQueues below it.
            let others = others.filter(|other| !cohorts.iter().any(|own| **own == **other));
            limits.extend(others.map(|other| Self::of_cohort(&other, LendingLimit)));
            let others = tree_of(engine, queue).into_iter();
            let others = others.filter(|other| other != queue);
            limits.extend(others.map(|other| Self::of_queue(&other, LendingLimit)));
        }
        limits.retain(|limit| limit.is_set(engine, flavor));
        fields.extend(limits);
        fields
    }

    /// Whether a limit is set for a resource of a flavor.
    fn is_set(&self, engine: &Engine, flavor: &str) -> bool {
        let Some(object) = self.object(engine) else {
            return false;
        };
        let flavors = object.resource_groups().iter();
        let quotas = flavors.flat_map(|group| &group.flavors);
        let mut quotas = quotas.filter(|quotas| quotas.name == flavor);
        quotas.any(|quotas| {
            quotas
                .resources
                .iter()
                .any(|quota| self.limit(quota).is_some())
        })
    }

    /// The limit of a quota; none of nominal quotas.
    fn limit<'q>(&self, quota: &'q ResourceQuota) -> Option<&'q Quantity> {
        match self.field() {
            QuotaField::BorrowingLimit => quota.borrowing_limit.as_ref(),
            QuotaField::LendingLimit => quota.lending_limit.as_ref(),
            QuotaField::NominalQuota => None,
        }
    }

    fn field(&self) -> QuotaField {
        match self {
            Self::Field { field, .. } => *field,
            Self::Uncovered(_) => QuotaField::NominalQuota,
        }
    }

    /// Whether a Cohort, which may have no object, has the quota.
    fn is_of_cohort(&self) -> bool {
        matches!(
            self,
            Self::Field {
                object: QuotaObject::Cohort,
                ..
            }
        )
    }

    /// Whether it is a borrowing or lending limit.
    pub(super) fn is_limit(&self) -> bool {
        !self.is_nominal()
    }

    /// Whether more nominal quota in another flavor can complete it.
    pub(super) fn is_nominal(&self) -> bool {
        self.field() == QuotaField::NominalQuota
    }

    /// The order in changes: limits, which cost nothing, nominal quotas, and those of other resources.
    pub(super) fn order(&self) -> (u8, Option<(QuotaObject, QuotaField)>, &str) {
        match self {
            Self::Field {
                object,
                name,
                field,
            } => (
                u8::from(self.is_nominal()),
                Some((*object, *field)),
                name.as_str(),
            ),
            Self::Uncovered(name) => (2, None, name.as_str()),
        }
    }

    /// The change that raises this field.
    pub(super) fn change(&self, flavor: &str, increases: Vec<QuotaIncrease>) -> AdmittingChange {
        let flavor = flavor.to_owned();
        match self.clone() {
            Self::Field {
                object,
                name,
                field,
            } => AdmittingChange::Quota {
                object,
                name,
                field,
                flavor,
                increases,
            },
            Self::Uncovered(cluster_queue) => {
                let covered = increases.into_iter().next();
                let (resource, nominal_quota) =
                    covered.map_or_else(Default::default, |i| (i.resource, i.to));
                AdmittingChange::CoveredResource {
                    cluster_queue,
                    flavor,
                    resource,
                    nominal_quota,
                }
            }
        }
    }

    /// The amount of a resource in a flavor now; `None` if there is nothing to raise, such as a limit that
    /// is not set.
    pub(super) fn amount_now(
        &self,
        engine: &Engine,
        flavor: &str,
        resource: ResourceName,
    ) -> Option<i64> {
        let object = self.object(engine)?;
        let groups = object.resource_groups();
        let mut flavors = groups.iter().flat_map(|group| &group.flavors);
        let quota = flavors
            .find(|quotas| quotas.name == flavor)
            .and_then(|quotas| {
                let mut resources = quotas.resources.iter();
                resources.find(|quota| quota.name == resource.as_str())
            });
        let value = |amount: &Quantity| resource_value(resource, Decimal::parse_lossy(amount));
        match quota {
            quota if matches!(self, Self::Uncovered(_)) => quota.is_none().then_some(0),
            None => (self.is_nominal() && self.is_of_cohort()).then_some(0),
            Some(quota) if self.is_nominal() => Some(value(&quota.nominal_quota)),
            Some(quota) => self.limit(quota).map(value),
        }
    }

    /// The object with these amounts of resources in a flavor.
    pub(super) fn raised(
        &self,
        engine: &Engine,
        flavor: &str,
        amounts: &[(ResourceName, i64)],
    ) -> Option<ChangedObject> {
        let mut object = self.object(engine)?;
        let groups = object.resource_groups_mut();
        match self {
            Self::Uncovered(_) => cover(groups, flavor, amounts),
            _ if self.is_nominal() && self.is_of_cohort() => add_flavor(groups, flavor, amounts)?,
            _ => {}
        }
        let mut flavors = groups.iter_mut().flat_map(|group| &mut group.flavors);
        let quotas = flavors.find(|quotas| quotas.name == flavor)?;
        for &(resource, amount) in amounts {
            let mut resources = quotas.resources.iter_mut();
            let quota = resources.find(|quota| quota.name == resource.as_str())?;
            let quantity = engine.config().formatter.quantity(resource, amount);
            match self.field() {
                QuotaField::NominalQuota => quota.nominal_quota = quantity,
                QuotaField::BorrowingLimit => quota.borrowing_limit = Some(quantity),
                QuotaField::LendingLimit => quota.lending_limit = Some(quantity),
            }
        }
        Some(object)
    }

    /// The object of the field as it is.
    fn object(&self, engine: &Engine) -> Option<ChangedObject> {
        let (object, name) = match self {
            Self::Field { object, name, .. } => (*object, name),
            Self::Uncovered(name) => (QuotaObject::ClusterQueue, name),
        };
        match object {
            QuotaObject::ClusterQueue => {
                let queue = ClusterQueue::clone(engine.cluster_queue(name)?);
                Some(ChangedObject::ClusterQueue(Box::new(queue)))
            }
            QuotaObject::Cohort => {
                let cohort = engine.cohort(name).map(|cohort| Cohort::clone(cohort));
                let cohort = cohort.unwrap_or_else(|| {
                    let mut cohort = Cohort::default();
                    cohort.metadata.name = Some(name.clone());
                    cohort
                });
                Some(ChangedObject::Cohort(Box::new(cohort)))
            }
        }
    }
}

fn without_quota(name: &str) -> ResourceQuota {
    ResourceQuota {
        name: name.to_owned(),
        nominal_quota: Quantity("0".to_owned()),
        ..ResourceQuota::default()
    }
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
    let covered = group.covered_resources.iter();
    group.flavors.push(FlavorQuotas {
        name: flavor.to_owned(),
        resources: covered.map(|name| without_quota(name)).collect(),
    });
    Some(())
}

/// Adds resources to the group of a flavor, without quota in any flavor of it, or a group with the flavor.
fn cover(groups: &mut Vec<ResourceGroup>, flavor: &str, resources: &[(ResourceName, i64)]) {
    let has_flavor = |group: &ResourceGroup| group.flavors.iter().any(|q| q.name == flavor);
    if !groups.iter().any(has_flavor) {
        groups.push(ResourceGroup {
            flavors: vec![FlavorQuotas {
                name: flavor.to_owned(),
                ..FlavorQuotas::default()
            }],
            ..ResourceGroup::default()
        });
    }
    for group in groups.iter_mut().filter(|group| has_flavor(group)) {
        for (resource, _) in resources {
            group.covered_resources.push(resource.to_string());
            for quotas in &mut group.flavors {
                quotas.resources.push(without_quota(resource.as_str()));
            }
        }
    }
}
