//! ClusterQueue: quota, queueing and preemption for the workloads of many namespaces.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use serde::{Deserialize, Serialize};

use super::{
    AdmissionScope, ClusterQueuePreemption, FairSharing, FairSharingStatus, FlavorFungibility,
    ResourceGroup, StopPolicy,
};
#[cfg(test)]
use crate::schema::{Amount, CheckName, ObjectName, cel};
use crate::wire::nullable;

kind! {
    /// A cluster-scoped pool of quota, with queueing and preemption policies. LocalQueues point to
    /// it.
    cluster ClusterQueue "kueue.x-k8s.io" "v1beta2" "clusterqueues" {
        /// The desired quota and policies.
        spec: ClusterQueueSpec,
        /// The observed state.
        status: ClusterQueueStatus,
    }
}

wire_enum! {
    /// The order in which the pending workloads of a ClusterQueue are considered for admission.
    QueueingStrategy {
        /// By priority, then creation time; a workload that does not fit blocks those after it.
        StrictFIFO = "StrictFIFO",
        /// By priority, then creation time; a workload that does not fit becomes inadmissible and
        /// does not block others.
        BestEffortFIFO = "BestEffortFIFO",
    }
}

/// The desired state of a ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "!has(self.cohortName) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit)))) : true",
    "borrowingLimit must be nil when cohort is empty",
)]))))]
pub struct ClusterQueueSpec {
    /// Quota by resource and flavor. At most 16 groups with 256 flavors in total. Without a group,
    /// only workloads without requests are admitted.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic")))]
    pub resource_groups: Vec<ResourceGroup>,
    /// The cohort whose members lend each other unused quota; empty for none. The Cohort object
    /// may be absent.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub cohort_name: String,
    /// The order of pending workloads. Default `BestEffortFIFO`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "BestEffortFIFO")))]
    pub queueing_strategy: Option<QueueingStrategy>,
    /// The namespaces that may submit workloads. Absent selects none, an empty selector all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Whether to try the next flavor before borrowing or preempting.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({}))))]
    pub flavor_fungibility: Option<FlavorFungibility>,
    /// The workloads that a pending workload may preempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({}))))]
    pub preemption: Option<ClusterQueuePreemption>,
    /// The AdmissionChecks that must be ready before a workload is admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_checks_strategy: Option<AdmissionChecksStrategy>,
    /// Stops the queue: anything but `None` makes it inactive. Default `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "None")))]
    pub stop_policy: Option<StopPolicy>,
    /// Weight in fair sharing; takes effect if the configuration enables fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
    /// Whether admission fair sharing applies to the LocalQueues of this ClusterQueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_scope: Option<AdmissionScope>,
    /// Admission of a workload's variants, one for each flavor, with migration to a preferred
    /// flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_admission_policy: Option<ConcurrentAdmissionPolicy>,
}

impl ClusterQueueSpec {
    /// The cohort, if any.
    pub fn cohort(&self) -> Option<&str> {
        (!self.cohort_name.is_empty()).then_some(self.cohort_name.as_str())
    }

    /// The queueing strategy, with its default.
    pub fn queueing_strategy(&self) -> QueueingStrategy {
        self.queueing_strategy
            .unwrap_or(QueueingStrategy::BestEffortFIFO)
    }

    /// The stop policy, with its default.
    pub fn stop_policy(&self) -> StopPolicy {
        self.stop_policy.unwrap_or(StopPolicy::None)
    }

    /// The rules for AdmissionChecks, if any.
    pub fn admission_check_rules(&self) -> &[AdmissionCheckStrategyRule] {
        self.admission_checks_strategy
            .as_ref()
            .map_or(&[], |s| &s.admission_checks)
    }
}

/// Which AdmissionChecks apply to which flavors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["admissionChecks"])))]
pub struct AdmissionChecksStrategy {
    /// One rule for each check.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub admission_checks: Vec<AdmissionCheckStrategyRule>,
}

/// The flavors to which an AdmissionCheck applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct AdmissionCheckStrategyRule {
    /// Name of the AdmissionCheck.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "CheckName"))]
    pub name: String,
    /// The flavors whose workloads require the check; empty means all workloads of the queue.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(with = "Vec<ObjectName>", length(max = 64), extend("x-kubernetes-list-type" = "set")))]
    pub on_flavors: Vec<String>,
}

/// The policy of concurrent admission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["migration"])))]
pub struct ConcurrentAdmissionPolicy {
    /// What happens when a variant of a workload is admitted.
    #[serde(skip_serializing_if = "ConcurrentAdmissionMigration::is_zero")]
    pub migration: ConcurrentAdmissionMigration,
}

wire_enum! {
    /// Whether an admitted workload migrates to a preferred flavor.
    ConcurrentAdmissionMigrationMode {
        /// It migrates when a preferred flavor becomes available.
        TryPreferredFlavors = "TryPreferredFlavors",
        /// It keeps the flavor of its first admission.
        RetainFirstAdmission = "RetainFirstAdmission",
    }
}

/// The migration between flavors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["mode"])))]
pub struct ConcurrentAdmissionMigration {
    /// Whether workloads migrate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 253)))]
    pub mode: Option<ConcurrentAdmissionMigrationMode>,
    /// Constraints on the target flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<ConcurrentAdmissionConstraints>,
}

impl ConcurrentAdmissionMigration {
    /// Whether no field is set; upstream omits such a value.
    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// Constraints on the migration between flavors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConcurrentAdmissionConstraints {
    /// The last acceptable target flavor, in the queue's order; absent, any flavor before the
    /// current one. Only with `TryPreferredFlavors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub last_acceptable_flavor_name: Option<String>,
}

/// The observed state of a ClusterQueue. The three counts are written even if zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterQueueStatus {
    /// Conditions by type; `Active` is true if the queue can admit workloads.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
    /// Reserved quota by flavor, of admitted workloads and of those with a quota reservation only.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors_reservation: Vec<FlavorUsage>,
    /// Quota used by admitted workloads, by flavor.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors_usage: Vec<FlavorUsage>,
    /// The number of pending workloads.
    pub pending_workloads: i32,
    /// The number of unfinished workloads with a quota reservation.
    pub reserving_workloads: i32,
    /// The number of unfinished admitted workloads.
    pub admitted_workloads: i32,
    /// Share in the cohort; only if fair sharing is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharingStatus>,
}

/// Usage of one flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name", "resources"])))]
pub struct FlavorUsage {
    /// Name of the flavor.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub name: String,
    /// Usage of each resource.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub resources: Vec<ResourceUsage>,
}

/// Usage of one resource in one flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct ResourceUsage {
    /// Name of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The total, including the borrowed amount.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub total: Quantity,
    /// The amount above nominal quota, borrowed from the cohort.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub borrowed: Quantity,
}
