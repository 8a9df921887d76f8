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
    /// A pool of quota with its rules, to which LocalQueues of many namespaces lead.
    cluster ClusterQueue "kueue.x-k8s.io" "v1beta2" "clusterqueues" {
        /// Quota and rules as the administrator wants them.
        spec: ClusterQueueSpec,
        /// What the controller observed.
        status: ClusterQueueStatus,
    }
}

wire_enum! {
    /// In which order the pending workloads of a ClusterQueue are tried.
    QueueingStrategy {
        /// By priority, then age; one that does not fit holds up all behind it.
        StrictFIFO = "StrictFIFO",
        /// By priority, then age; one that does not fit is set aside and does not hold up others.
        BestEffortFIFO = "BestEffortFIFO",
    }
}

/// What is wanted of a ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "!has(self.cohortName) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit)))) : true",
    "borrowingLimit must be nil when cohort is empty",
)]))))]
pub struct ClusterQueueSpec {
    /// Quota by resource and flavor. At most 16 groups with 256 flavors in all. Without any, only
    /// workloads that request nothing are admitted.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic")))]
    pub resource_groups: Vec<ResourceGroup>,
    /// The cohort whose members lend each other unused quota; empty for none. The Cohort object
    /// need not exist.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub cohort_name: String,
    /// In which order pending workloads are tried. Default `BestEffortFIFO`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "BestEffortFIFO")))]
    pub queueing_strategy: Option<QueueingStrategy>,
    /// Which namespaces may submit. Absent means none, an empty selector means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Whether to look at the next flavor before borrowing or preempting.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({}))))]
    pub flavor_fungibility: Option<FlavorFungibility>,
    /// Whom a pending workload may preempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({}))))]
    pub preemption: Option<ClusterQueuePreemption>,
    /// Which AdmissionChecks must be ready before a workload is admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_checks_strategy: Option<AdmissionChecksStrategy>,
    /// Stops the queue: anything but `None` makes it inactive. Default `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "None")))]
    pub stop_policy: Option<StopPolicy>,
    /// Weight in fair sharing; has effect only where the configuration turns it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
    /// Whether past usage orders this queue's LocalQueues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_scope: Option<AdmissionScope>,
    /// Lets one workload wait for several flavors at once and move to a better one later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_admission_policy: Option<ConcurrentAdmissionPolicy>,
}

impl ClusterQueueSpec {
    /// The cohort, where there is one.
    pub fn cohort(&self) -> Option<&str> {
        (!self.cohort_name.is_empty()).then_some(self.cohort_name.as_str())
    }

    /// The queueing strategy in force.
    pub fn queueing_strategy(&self) -> QueueingStrategy {
        self.queueing_strategy
            .unwrap_or(QueueingStrategy::BestEffortFIFO)
    }

    /// The stop policy in force.
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

/// When one AdmissionCheck applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct AdmissionCheckStrategyRule {
    /// Name of the AdmissionCheck.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(with = "CheckName"))]
    pub name: String,
    /// The flavors whose workloads need the check; empty means all workloads of the queue.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(with = "Vec<ObjectName>", length(max = 64), extend("x-kubernetes-list-type" = "set")))]
    pub on_flavors: Vec<String>,
}

/// How a workload may wait for several flavors at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["migration"])))]
pub struct ConcurrentAdmissionPolicy {
    /// What happens once one of the variants of a workload is admitted.
    #[serde(skip_serializing_if = "ConcurrentAdmissionMigration::is_zero")]
    pub migration: ConcurrentAdmissionMigration,
}

wire_enum! {
    /// Whether an admitted workload goes on trying for flavors it would like better.
    ConcurrentAdmissionMigrationMode {
        /// It does, and moves when one opens.
        TryPreferredFlavors = "TryPreferredFlavors",
        /// It stays where it was admitted first.
        RetainFirstAdmission = "RetainFirstAdmission",
    }
}

/// The rules of moving from flavor to flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["mode"])))]
pub struct ConcurrentAdmissionMigration {
    /// Whether a workload moves at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 253)))]
    pub mode: Option<ConcurrentAdmissionMigrationMode>,
    /// How far it may move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<ConcurrentAdmissionConstraints>,
}

impl ConcurrentAdmissionMigration {
    /// Whether nothing is set, in which case upstream leaves the field out.
    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits of moving from flavor to flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConcurrentAdmissionConstraints {
    /// The last flavor, in the queue's order, that is worth moving to. Only with
    /// `TryPreferredFlavors`; without it any flavor before the present one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub last_acceptable_flavor_name: Option<String>,
}

/// What was observed of a ClusterQueue. The three counts are always written, even when zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterQueueStatus {
    /// Conditions by type; `Active` says whether workloads are admitted.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
    /// Quota held by workloads that reserved it, admitted or not, by flavor.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors_reservation: Vec<FlavorUsage>,
    /// Quota held by admitted workloads, by flavor.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 64), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    )))]
    pub flavors_usage: Vec<FlavorUsage>,
    /// How many workloads wait.
    pub pending_workloads: i32,
    /// How many unfinished workloads hold a quota reservation.
    pub reserving_workloads: i32,
    /// How many unfinished workloads are admitted.
    pub admitted_workloads: i32,
    /// Share in the cohort; only where fair sharing is turned on.
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
    /// All that is used, borrowed amounts included.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub total: Quantity,
    /// What of it is above nominal quota, that is borrowed from the cohort.
    #[serde(with = "crate::wire::quantity")]
    #[cfg_attr(test, schemars(with = "Amount"))]
    pub borrowed: Quantity,
}
