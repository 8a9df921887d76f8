//! [`AdmittingChange`]: a change of a cluster's state that admits workloads.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::settle::settle;
use crate::EngineDriver;
use kueue_lab_admission::Engine;
use kueue_lab_admission::resources::{Decimal, ResourceFormatter, ResourceName, resource_value};
use kueue_lab_admission::workload::{WorkloadKey, predicates};
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};

/// More nominal quota of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaIncrease {
    /// The resource.
    pub resource: String,
    /// The nominal quota now.
    pub from: String,
    /// The nominal quota with which the workloads are admitted.
    pub to: String,
}

/// A change that admits workloads, verified by the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum AdmittingChange {
    /// A higher nominal quota.
    Quota {
        /// The ClusterQueue.
        cluster_queue: String,
        /// The flavor.
        flavor: String,
        /// The increases.
        increases: Vec<QuotaIncrease>,
    },
    /// A higher priority of the workloads.
    Priority {
        /// The highest priority of the workloads now.
        from: i32,
        /// The lowest priority with which they are admitted.
        to: i32,
    },
    /// Other workloads finish.
    Finish {
        /// The workloads. If one of them does not finish, the others do not suffice.
        workloads: Vec<WorkloadKey>,
    },
}

impl std::fmt::Display for AdmittingChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AdmittingChange::Quota {
                cluster_queue,
                flavor,
                increases,
            } => {
                let each = increases.iter().map(|increase| {
                    let QuotaIncrease { resource, from, to } = increase;
                    format!("{resource} from {from} to {to}")
                });
                let each: Vec<String> = each.collect();
                write!(
                    f,
                    "raise nominalQuota in flavor {flavor} of ClusterQueue {cluster_queue}: {}",
                    each.join(", ")
                )
            }
            AdmittingChange::Priority { from, to } => {
                write!(f, "raise the priority from {from} to {to}")
            }
            AdmittingChange::Finish { workloads } => {
                let names: Vec<String> = workloads.iter().map(ToString::to_string).collect();
                write!(f, "when finished: {}", names.join(", "))
            }
        }
    }
}

/// A state in which changes are tried out.
pub(super) struct ChangedState<'a> {
    /// The settled state without the workloads.
    pub(super) base: EngineDriver,
    pub(super) workloads: &'a [Arc<Workload>],
    pub(super) now: Timestamp,
}

impl<'a> ChangedState<'a> {
    /// The state of a cluster without the workloads.
    pub(super) fn new(
        live: &Engine,
        pods_ready: bool,
        workloads: &'a [Arc<Workload>],
        now: Timestamp,
    ) -> Self {
        let mut base = EngineDriver::new(live.clone(), pods_ready);
        let mut at = now;
        for wl in workloads {
            base.engine_mut().delete_workload(&predicates::key(wl), now);
        }
        settle(&mut base, &mut at);
        Self {
            base,
            workloads,
            now: at,
        }
    }

    /// Whether the workloads are admitted after changes of the state and of the workloads, and stay so.
    pub(super) fn admits(
        &self,
        change: impl FnOnce(&mut EngineDriver, Timestamp),
        adapt: impl Fn(&mut Workload),
    ) -> bool {
        let mut driver = self.base.clone();
        let mut now = self.now;
        for wl in self.workloads {
            let mut wl = Workload::clone(wl);
            adapt(&mut wl);
            driver.engine_mut().upsert_workload(Arc::new(wl), now);
        }
        if settle(&mut driver, &mut now).is_none() {
            return false;
        }
        change(&mut driver, now);
        if settle(&mut driver, &mut now).is_none() {
            return false;
        }
        self.workloads.iter().all(|wl| {
            let wl = driver.engine().workload(&predicates::key(wl));
            wl.is_some_and(|wl| predicates::is_admitted(wl))
        })
    }

    /// A ClusterQueue with more nominal quota in a flavor, and the increases.
    pub(super) fn with_quota(
        &self,
        queue: &str,
        flavor: &str,
        more: &[(ResourceName, i64)],
    ) -> Option<(ClusterQueue, Vec<QuotaIncrease>)> {
        let engine = self.base.engine();
        let formatter = &engine.config().formatter;
        let mut changed = ClusterQueue::clone(engine.cluster_queue(queue)?);
        let groups = &mut changed.spec.resource_groups;
        let mut flavors = groups.iter_mut().flat_map(|group| &mut group.flavors);
        let quotas = flavors.find(|quotas| quotas.name == flavor)?;
        let mut increases = Vec::new();
        for &(resource, more) in more.iter().filter(|(_, more)| *more > 0) {
            let mut resources = quotas.resources.iter_mut();
            let quota = resources.find(|quota| quota.name == resource.as_str())?;
            let from = resource_value(resource, Decimal::parse_lossy(&quota.nominal_quota));
            let to = rounded_up(resource, from.saturating_add(more));
            quota.nominal_quota = formatter.quantity(resource, to);
            increases.push(increase(resource, from, to, formatter));
        }
        (!increases.is_empty()).then_some((changed, increases))
    }
}

fn increase(
    resource: ResourceName,
    from: i64,
    to: i64,
    formatter: &ResourceFormatter,
) -> QuotaIncrease {
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
