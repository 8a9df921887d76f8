//! [`AdmittingChange`]: a change of a cluster's state that admits workloads.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::settle::settle;
use crate::EngineDriver;
use kueue_lab_admission::Engine;
use kueue_lab_admission::workload::{WorkloadKey, predicates};
use kueue_lab_api::v1beta2::Workload;

/// A higher quota or limit of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaIncrease {
    /// The resource.
    pub resource: String,
    /// The quota or limit now.
    pub from: String,
    /// The one with which the workloads are admitted.
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
    /// A higher nominal quota of a Cohort, whose object may have to be created.
    CohortQuota {
        /// The Cohort.
        cohort: String,
        /// The flavor.
        flavor: String,
        /// The increases.
        increases: Vec<QuotaIncrease>,
    },
    /// A higher borrowing limit.
    BorrowingLimit {
        /// The ClusterQueue.
        cluster_queue: String,
        /// The flavor.
        flavor: String,
        /// The increases.
        increases: Vec<QuotaIncrease>,
    },
    /// A higher lending limit of another ClusterQueue.
    LendingLimit {
        /// The ClusterQueue that lends.
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
            } => raise(
                f,
                "nominalQuota",
                "ClusterQueue",
                cluster_queue,
                flavor,
                increases,
            ),
            AdmittingChange::CohortQuota {
                cohort,
                flavor,
                increases,
            } => raise(f, "nominalQuota", "Cohort", cohort, flavor, increases),
            AdmittingChange::BorrowingLimit {
                cluster_queue,
                flavor,
                increases,
            } => raise(
                f,
                "borrowingLimit",
                "ClusterQueue",
                cluster_queue,
                flavor,
                increases,
            ),
            AdmittingChange::LendingLimit {
                cluster_queue,
                flavor,
                increases,
            } => raise(
                f,
                "lendingLimit",
                "ClusterQueue",
                cluster_queue,
                flavor,
                increases,
            ),
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

/// `raise nominalQuota in flavor spot of ClusterQueue team-a: cpu from 4 to 6`.
fn raise(
    f: &mut std::fmt::Formatter<'_>,
    field: &str,
    kind: &str,
    name: &str,
    flavor: &str,
    increases: &[QuotaIncrease],
) -> std::fmt::Result {
    let each = increases.iter().map(|increase| {
        let QuotaIncrease { resource, from, to } = increase;
        format!("{resource} from {from} to {to}")
    });
    let each: Vec<String> = each.collect();
    let each = each.join(", ");
    write!(
        f,
        "raise {field} in flavor {flavor} of {kind} {name}: {each}"
    )
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
}
