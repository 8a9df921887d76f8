//! ClusterQueues, LocalQueues, Cohorts, flavors and priority classes as rows.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Taint, Toleration};

use super::condition::Conditions;
use super::meta::Meta;
use super::{ObjectKey, Row};
use crate::text::{Amount, sanitize};
use kueue_lab_api::v1beta2::{
    ClusterQueue, ClusterQueuePreemption, Cohort, FairSharing, FairSharingStatus,
    FlavorFungibility, FlavorUsage, LocalQueue, QueueingStrategy, ResourceFlavor, ResourceGroup,
    StopPolicy, WorkloadPriorityClass,
};
use kueue_lab_quota_tree::{self as quota_tree, Quota};
use kueue_lab_reason::resources::ResourceName;

/// A flavor and a resource in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlavorResource {
    /// Name of the flavor.
    pub flavor: String,
    /// Name of the resource.
    pub resource: String,
}

/// Counts of workloads in the status of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadCounts {
    /// Pending.
    pub pending: i32,
    /// With quota reservation.
    pub reserving: i32,
    /// Admitted.
    pub admitted: i32,
}

/// Weight and share of fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FairShare {
    /// The weight; `1` by default.
    pub weight: String,
    /// The weighted share in thousandths, from the status.
    pub weighted_share: Option<i64>,
}

impl FairShare {
    /// Converts weight and share.
    fn of(spec: Option<&FairSharing>, status: Option<&FairSharingStatus>) -> Self {
        let weight = spec.and_then(|s| s.weight.as_ref());
        Self {
            weight: weight.map_or_else(|| "1".to_owned(), |q| sanitize(&q.0)),
            weighted_share: status.map(|s| s.weighted_share),
        }
    }
}

/// A ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterQueueRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// Its cohort.
    pub cohort: Option<String>,
    /// Quota by flavor and resource, in the order of the flavors.
    pub quotas: Vec<(FlavorResource, Quota)>,
    /// The queueing strategy.
    pub queueing_strategy: Option<QueueingStrategy>,
    /// The stop policy.
    pub stop_policy: Option<StopPolicy>,
    /// The preemption policies.
    pub preemption: ClusterQueuePreemption,
    /// The flavor fungibility.
    pub flavor_fungibility: FlavorFungibility,
    /// Names of its AdmissionChecks.
    pub admission_checks: Vec<String>,
    /// Whether the namespaceSelector is missing, so that no namespace matches.
    pub no_namespace_selector: bool,
    /// Whether admission fair sharing is on.
    pub admission_fair_sharing: bool,
    /// Conditions.
    pub conditions: Conditions,
    /// Reserved quota by flavor and resource.
    pub reservation: BTreeMap<FlavorResource, Amount>,
    /// Quota of admitted workloads by flavor and resource.
    pub usage: BTreeMap<FlavorResource, Amount>,
    /// Counts of workloads.
    pub counts: WorkloadCounts,
    /// Weight and share.
    pub share: FairShare,
}

impl ClusterQueueRow {
    /// Converts a ClusterQueue.
    pub fn of(cq: &ClusterQueue) -> Self {
        let (spec, status) = (&cq.spec, &cq.status);
        Self {
            meta: Meta::of(&cq.metadata),
            cohort: spec.cohort().map(sanitize),
            quotas: quotas_of(&spec.resource_groups),
            queueing_strategy: spec.queueing_strategy,
            stop_policy: spec.stop_policy,
            preemption: spec.preemption.clone().unwrap_or_default(),
            flavor_fungibility: spec.flavor_fungibility.clone().unwrap_or_default(),
            admission_checks: spec
                .admission_check_rules()
                .iter()
                .map(|r| sanitize(&r.name))
                .collect(),
            no_namespace_selector: spec.namespace_selector.is_none(),
            admission_fair_sharing: spec
                .admission_scope
                .as_ref()
                .and_then(|s| s.admission_mode)
                .is_some_and(|m| {
                    m == kueue_lab_api::v1beta2::AdmissionMode::UsageBasedAdmissionFairSharing
                }),
            conditions: Conditions::of(&status.conditions),
            reservation: usage_of(&status.flavors_reservation),
            usage: usage_of(&status.flavors_usage),
            counts: WorkloadCounts {
                pending: status.pending_workloads,
                reserving: status.reserving_workloads,
                admitted: status.admitted_workloads,
            },
            share: FairShare::of(spec.fair_sharing.as_ref(), status.fair_sharing.as_ref()),
        }
    }

    /// The stop policy, unless it is `None`.
    pub fn stopped(&self) -> Option<StopPolicy> {
        self.stop_policy.filter(|s| *s != StopPolicy::None)
    }

    /// Whether the queueing strategy is StrictFIFO.
    pub(crate) fn is_strict_fifo(&self) -> bool {
        self.queueing_strategy == Some(QueueingStrategy::StrictFIFO)
    }
}

/// A LocalQueue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalQueueRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// Its ClusterQueue.
    pub cluster_queue: String,
    /// The stop policy.
    pub stop_policy: Option<StopPolicy>,
    /// Conditions.
    pub conditions: Conditions,
    /// Counts of workloads.
    pub counts: WorkloadCounts,
}

impl LocalQueueRow {
    /// Converts a LocalQueue.
    pub fn of(lq: &LocalQueue) -> Self {
        Self {
            meta: Meta::of(&lq.metadata),
            cluster_queue: sanitize(&lq.spec.cluster_queue),
            stop_policy: lq.spec.stop_policy,
            conditions: Conditions::of(&lq.status.conditions),
            counts: WorkloadCounts {
                pending: lq.status.pending_workloads,
                reserving: lq.status.reserving_workloads,
                admitted: lq.status.admitted_workloads,
            },
        }
    }

    /// The stop policy, unless it is `None`.
    pub fn stopped(&self) -> Option<StopPolicy> {
        self.stop_policy.filter(|s| *s != StopPolicy::None)
    }
}

/// A Cohort.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CohortRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// The parent Cohort.
    pub parent: Option<String>,
    /// Its own quota.
    pub quotas: Vec<(FlavorResource, Quota)>,
    /// Weight and share.
    pub share: FairShare,
}

impl CohortRow {
    /// Converts a Cohort.
    pub fn of(cohort: &Cohort) -> Self {
        Self {
            meta: Meta::of(&cohort.metadata),
            parent: cohort.spec.parent().map(sanitize),
            quotas: quotas_of(&cohort.spec.resource_groups),
            share: FairShare::of(
                cohort.spec.fair_sharing.as_ref(),
                cohort.status.fair_sharing.as_ref(),
            ),
        }
    }
}

/// A ResourceFlavor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceFlavorRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// Node labels.
    pub node_labels: BTreeMap<String, String>,
    /// Node taints.
    pub taints: Vec<Taint>,
    /// Tolerations added to pods.
    pub tolerations: Vec<Toleration>,
    /// Its Topology.
    pub topology: Option<String>,
}

impl ResourceFlavorRow {
    /// Converts a ResourceFlavor.
    pub fn of(flavor: &ResourceFlavor) -> Self {
        Self {
            meta: Meta::of(&flavor.metadata),
            node_labels: flavor
                .spec
                .node_labels
                .iter()
                .map(|(k, v)| (sanitize(k), sanitize(v)))
                .collect(),
            taints: flavor.spec.node_taints.clone(),
            tolerations: flavor.spec.tolerations.clone(),
            topology: flavor.spec.topology_name.as_deref().map(sanitize),
        }
    }
}

/// A WorkloadPriorityClass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadPriorityClassRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// The priority.
    pub value: i32,
}

impl WorkloadPriorityClassRow {
    /// Converts a WorkloadPriorityClass.
    pub fn of(class: &WorkloadPriorityClass) -> Self {
        Self {
            meta: Meta::of(&class.metadata),
            value: class.value,
        }
    }
}

/// Quota by flavor and resource, in the order of the resource groups.
fn quotas_of(groups: &[ResourceGroup]) -> Vec<(FlavorResource, Quota)> {
    let flavors = groups.iter().flat_map(|g| &g.flavors);
    flavors
        .flat_map(|f| {
            f.resources.iter().map(|r| {
                let fr = FlavorResource {
                    flavor: sanitize(&f.name),
                    resource: sanitize(&r.name),
                };
                (fr, quota_tree::quota(ResourceName::new(&r.name), r))
            })
        })
        .collect()
}

/// Usage by flavor and resource.
fn usage_of(flavors: &[FlavorUsage]) -> BTreeMap<FlavorResource, Amount> {
    flavors
        .iter()
        .flat_map(|f| {
            f.resources.iter().map(|r| {
                let fr = FlavorResource {
                    flavor: sanitize(&f.name),
                    resource: sanitize(&r.name),
                };
                (fr, Amount::of(&r.total))
            })
        })
        .collect()
}

macro_rules! rows {
    ($($row:ty),+) => {
        $(impl Row for $row {
            fn key(&self) -> &ObjectKey {
                &self.meta.key
            }
        })+
    };
}

rows!(
    ClusterQueueRow,
    LocalQueueRow,
    CohortRow,
    ResourceFlavorRow,
    WorkloadPriorityClassRow
);
