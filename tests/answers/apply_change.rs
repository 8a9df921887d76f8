//! Applies a change that is said to admit a workload.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_api::v1beta2::{
    ClusterQueue, Cohort, FairSharing, FlavorQuotas, LocalQueue, ResourceGroup, ResourceQuota,
};
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::workload::{LocalQueueKey, WorkloadKey};
use kueue_lab_reason::{QuotaField, QuotaObject};
use kueue_lab_simulation::simulate::{
    AdmittingChange, QuotaIncrease, StoppedQueue, TopologyRequestMode,
};

use crate::engine_state::EngineState;

/// The quota of a resource of a flavor.
fn quota<'g>(
    groups: &'g mut Vec<ResourceGroup>,
    flavor: &str,
    resource: &str,
) -> &'g mut ResourceQuota {
    let known = groups.iter().position(|group| {
        group.flavors.iter().any(|quotas| quotas.name == flavor)
            && group.covered_resources.iter().any(|name| name == resource)
    });
    let covering = groups
        .iter()
        .position(|group| group.covered_resources.iter().any(|name| name == resource));
    let of_flavor = groups
        .iter()
        .position(|group| group.flavors.iter().any(|quotas| quotas.name == flavor));
    let index = known.or(of_flavor).or(covering).unwrap_or_else(|| {
        groups.push(ResourceGroup::default());
        groups.len() - 1
    });
    let group = &mut groups[index];
    let zero = |name: &str| ResourceQuota {
        name: name.to_owned(),
        nominal_quota: Quantity("0".to_owned()),
        ..ResourceQuota::default()
    };
    if !group.covered_resources.iter().any(|name| name == resource) {
        group.covered_resources.push(resource.to_owned());
        for quotas in &mut group.flavors {
            quotas.resources.push(zero(resource));
        }
    }
    if !group.flavors.iter().any(|quotas| quotas.name == flavor) {
        group.flavors.push(FlavorQuotas {
            name: flavor.to_owned(),
            resources: group
                .covered_resources
                .iter()
                .map(|name| zero(name))
                .collect(),
        });
    }
    let quotas = group.flavors.iter_mut().find(|q| q.name == flavor).unwrap();
    quotas
        .resources
        .iter_mut()
        .find(|q| q.name == resource)
        .unwrap()
}

/// Higher quotas of a flavor of a ClusterQueue or Cohort.
pub(crate) struct Raise<'c> {
    pub object: &'c str,
    pub is_of_cohort: bool,
    field: QuotaField,
    flavor: &'c str,
    increases: &'c [QuotaIncrease],
}

impl<'c> Raise<'c> {
    /// The quotas that a change raises; `None` if it is another change.
    pub(crate) fn of(change: &'c AdmittingChange) -> Option<Self> {
        let AdmittingChange::Quota {
            object,
            name,
            field,
            flavor,
            increases,
        } = change
        else {
            return None;
        };
        Some(Self {
            object: name,
            is_of_cohort: *object == QuotaObject::Cohort,
            field: *field,
            flavor,
            increases,
        })
    }

    /// Sets the quotas in resource groups.
    pub(crate) fn set(&self, groups: &mut Vec<ResourceGroup>) {
        for increase in self.increases {
            let quota = quota(groups, self.flavor, &increase.resource);
            let to = Quantity(increase.to.clone());
            match self.field {
                QuotaField::NominalQuota => quota.nominal_quota = to,
                QuotaField::BorrowingLimit => quota.borrowing_limit = Some(to),
                QuotaField::LendingLimit => quota.lending_limit = Some(to),
            }
        }
    }
}

impl EngineState {
    fn change_queue(&mut self, name: &str, change: impl FnOnce(&mut ClusterQueue)) {
        let mut queue = ClusterQueue::clone(self.driver.engine().cluster_queue(name).unwrap());
        change(&mut queue);
        let now = self.now;
        self.driver
            .engine_mut()
            .apply(ObjectChange::upsert(queue), now);
    }

    fn change_cohort(&mut self, name: &str, change: impl FnOnce(&mut Cohort)) {
        let known = self.driver.engine().cohort(name);
        let mut cohort = known
            .map(|cohort| Cohort::clone(cohort))
            .unwrap_or_default();
        cohort.metadata.name = Some(name.to_owned());
        change(&mut cohort);
        let now = self.now;
        self.driver
            .engine_mut()
            .apply(ObjectChange::upsert(cohort), now);
    }

    /// Applies a change that is said to admit the workload.
    pub(crate) fn apply_change(&mut self, key: &WorkloadKey, change: &AdmittingChange) {
        if let Some(raise) = Raise::of(change) {
            return match raise.is_of_cohort {
                true => self.change_cohort(raise.object, |cohort| {
                    raise.set(&mut cohort.spec.resource_groups);
                }),
                false => self.change_queue(raise.object, |queue| {
                    raise.set(&mut queue.spec.resource_groups);
                }),
            };
        }
        match change {
            AdmittingChange::CoveredResource {
                cluster_queue,
                flavor,
                resource,
                nominal_quota,
            } => {
                self.change_queue(cluster_queue, |queue| {
                    let groups = &mut queue.spec.resource_groups;
                    quota(groups, flavor, resource).nominal_quota = Quantity(nominal_quota.clone());
                });
            }
            AdmittingChange::Combined { changes } => {
                changes
                    .iter()
                    .for_each(|change| self.apply_change(key, change));
            }
            AdmittingChange::Priority { to, class, .. } => {
                let to = class.as_ref().map_or(*to, |class| class.value);
                self.update(key, |wl| wl.spec.priority = Some(to));
            }
            AdmittingChange::Finish { workloads } => {
                for workload in workloads {
                    self.driver.finish(workload, self.now);
                }
            }
            AdmittingChange::StartQueue {
                queue: StoppedQueue::ClusterQueue { name },
                ..
            } => self.change_queue(name, |queue| queue.spec.stop_policy = None),
            AdmittingChange::StartQueue {
                queue: StoppedQueue::LocalQueue { namespace, name },
                ..
            } => {
                let engine = self.driver.engine_mut();
                let key = LocalQueueKey::new(namespace, name);
                let mut local = LocalQueue::clone(engine.local_queue(&key).unwrap());
                local.spec.stop_policy = None;
                engine.apply(ObjectChange::upsert(local), self.now);
            }
            AdmittingChange::FlavorFungibility {
                cluster_queue,
                when_can_borrow,
                when_can_preempt,
            } => self.change_queue(cluster_queue, |queue| {
                let policies = queue.spec.flavor_fungibility.get_or_insert_default();
                policies.when_can_borrow = when_can_borrow.or(policies.when_can_borrow);
                policies.when_can_preempt = when_can_preempt.or(policies.when_can_preempt);
            }),
            AdmittingChange::TopologyRequest { to } => self.update(key, |wl| {
                for pod_set in &mut wl.spec.pod_sets {
                    let Some(request) = &mut pod_set.topology_request else {
                        continue;
                    };
                    let level = request.required.take().or(request.preferred.take());
                    match to {
                        TopologyRequestMode::Preferred => request.preferred = level,
                        TopologyRequestMode::Unconstrained => request.unconstrained = Some(true),
                    }
                }
            }),
            AdmittingChange::Weight {
                object, name, to, ..
            } => {
                let fair_sharing = Some(FairSharing {
                    weight: Some(Quantity(to.clone())),
                });
                match object {
                    QuotaObject::ClusterQueue => {
                        self.change_queue(name, |queue| queue.spec.fair_sharing = fair_sharing);
                    }
                    QuotaObject::Cohort => {
                        self.change_cohort(name, |cohort| cohort.spec.fair_sharing = fair_sharing);
                    }
                }
            }
            AdmittingChange::Quota { .. } => unreachable!("it is a raise"),
        }
    }
}
