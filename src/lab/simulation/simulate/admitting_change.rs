//! [`AdmittingChange`]: a change of a cluster's state that admits workloads.

use serde::{Deserialize, Serialize};

use kueue_lab_api::v1beta2::{FlavorFungibilityPolicy, StopPolicy};
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_reason::{QuotaField, QuotaObject};

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

/// A queue that can be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum StoppedQueue {
    /// A ClusterQueue.
    ClusterQueue {
        /// Its name.
        name: String,
    },
    /// A LocalQueue.
    LocalQueue {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl std::fmt::Display for StoppedQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoppedQueue::ClusterQueue { name } => write!(f, "ClusterQueue {name}"),
            StoppedQueue::LocalQueue { namespace, name } => {
                write!(f, "LocalQueue {namespace}/{name}")
            }
        }
    }
}

/// A topology request that is less strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TopologyRequestMode {
    /// The required level is preferred.
    Preferred,
    /// Any nodes.
    Unconstrained,
}

/// A change that admits workloads, verified by the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum AdmittingChange {
    /// A higher quota or limit: of the ClusterQueue of the workloads or a Cohort above it, or the lending limit of
    /// another one. The object of a Cohort may have to be created.
    Quota {
        /// The kind of the object.
        object: QuotaObject,
        /// Its name.
        name: String,
        /// The field.
        field: QuotaField,
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
    /// A stopped queue of the workloads is started: its stopPolicy is None.
    StartQueue {
        /// Which queue.
        queue: StoppedQueue,
        /// The stopPolicy now.
        stop_policy: StopPolicy,
    },
    /// Other policies of flavorFungibility.
    FlavorFungibility {
        /// The ClusterQueue.
        cluster_queue: String,
        /// The policy whenCanBorrow, if it changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when_can_borrow: Option<FlavorFungibilityPolicy>,
        /// The policy whenCanPreempt, if it changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when_can_preempt: Option<FlavorFungibilityPolicy>,
    },
    /// The topology requests of the pod sets are less strict.
    TopologyRequest {
        /// How the pod sets request a topology with which they are admitted.
        to: TopologyRequestMode,
    },
    /// A higher weight for fair sharing.
    Weight {
        /// The kind of the object.
        object: QuotaObject,
        /// Its name.
        name: String,
        /// The weight now.
        from: String,
        /// The one with which the workloads are admitted, a power of two times as high.
        to: String,
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
                object,
                name,
                field,
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
                    "raise {} in flavor {flavor} of {} {name}: {}",
                    field.name(),
                    object.name(),
                    each.join(", ")
                )
            }
            AdmittingChange::StartQueue { queue, stop_policy } => {
                write!(f, "set stopPolicy of {queue} from {stop_policy} to None")
            }
            AdmittingChange::FlavorFungibility {
                cluster_queue,
                when_can_borrow,
                when_can_preempt,
            } => {
                let borrow = when_can_borrow.map(|to| format!("whenCanBorrow to {to}"));
                let preempt = when_can_preempt.map(|to| format!("whenCanPreempt to {to}"));
                let fields: Vec<String> = borrow.into_iter().chain(preempt).collect();
                write!(
                    f,
                    "set flavorFungibility of ClusterQueue {cluster_queue}: {}",
                    fields.join(", ")
                )
            }
            AdmittingChange::TopologyRequest { to } => f.write_str(match to {
                TopologyRequestMode::Preferred => {
                    "request the topology level as preferred, not as required"
                }
                TopologyRequestMode::Unconstrained => "request the topology as unconstrained",
            }),
            AdmittingChange::Weight {
                object,
                name,
                from,
                to,
            } => write!(
                f,
                "raise the fair sharing weight of {} {name} from {from} to {to}",
                object.name()
            ),
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
