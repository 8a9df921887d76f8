//! [`AdmittingChange`]: a change of a cluster's state that admits workloads.

use serde::{Deserialize, Serialize};

use kueue_lab_engine::workload::WorkloadKey;

/// A higher quota or limit of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaIncrease {
    /// The resource.
    pub resource: String,
    /// The quota or limit now.
    pub from: String,
    /// The one with which the workloads are admitted.
    pub to: String,
}

/// A priority class of workloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriorityClass {
    /// The name of the WorkloadPriorityClass.
    pub name: String,
    /// Its value.
    pub value: i32,
}

/// A change that admits workloads, verified by the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// A higher borrowing limit of a Cohort above the ClusterQueue.
    CohortBorrowingLimit {
        /// The Cohort.
        cohort: String,
        /// The flavor.
        flavor: String,
        /// The increases.
        increases: Vec<QuotaIncrease>,
    },
    /// A higher lending limit of another Cohort.
    CohortLendingLimit {
        /// The Cohort that lends.
        cohort: String,
        /// The flavor.
        flavor: String,
        /// The increases.
        increases: Vec<QuotaIncrease>,
    },
    /// A resource that a ClusterQueue does not cover gets quota in a flavor.
    CoveredResource {
        /// The ClusterQueue.
        cluster_queue: String,
        /// The flavor. If the ClusterQueue does not have it, a new resource group does.
        flavor: String,
        /// The resource.
        resource: String,
        /// Its nominal quota.
        nominal_quota: String,
    },
    /// Several of the above, which admit the workloads only together.
    Combined {
        /// The changes, of different flavors or ClusterQueues.
        changes: Vec<AdmittingChange>,
    },
    /// A higher priority of the workloads.
    Priority {
        /// The highest priority of the workloads now.
        from: i32,
        /// The lowest priority with which they are admitted.
        to: i32,
        /// The lowest WorkloadPriorityClass of at least this priority, with which they are admitted too.
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<PriorityClass>,
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
            AdmittingChange::CohortBorrowingLimit {
                cohort,
                flavor,
                increases,
            } => raise(f, "borrowingLimit", "Cohort", cohort, flavor, increases),
            AdmittingChange::CohortLendingLimit {
                cohort,
                flavor,
                increases,
            } => raise(f, "lendingLimit", "Cohort", cohort, flavor, increases),
            AdmittingChange::CoveredResource {
                cluster_queue,
                flavor,
                resource,
                nominal_quota,
            } => write!(
                f,
                "cover {resource} in flavor {flavor} of ClusterQueue {cluster_queue} with nominalQuota {nominal_quota}"
            ),
            AdmittingChange::Combined { changes } => {
                let all: Vec<String> = changes.iter().map(ToString::to_string).collect();
                f.write_str(&all.join(", and "))
            }
            AdmittingChange::Priority { from, to, class } => {
                write!(f, "raise the priority from {from} to {to}")?;
                match class {
                    Some(class) => write!(
                        f,
                        ", with WorkloadPriorityClass {} of value {}",
                        class.name, class.value
                    ),
                    None => Ok(()),
                }
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
