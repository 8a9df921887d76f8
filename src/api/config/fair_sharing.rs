//! Settings of quota: how resources are counted and how shares are made fair.

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::DeviceSelector;
use serde::{Deserialize, Serialize};

use super::Duration;
use crate::v1beta2::ResourceList;

wire_enum! {
    /// When fair sharing may preempt.
    PreemptionStrategy {
        /// When the preemptor's share afterwards is at most that of the one preempted afterwards.
        LessThanOrEqualToFinalShare = "LessThanOrEqualToFinalShare",
        /// When the preemptor's share afterwards is below that of the one preempted before.
        LessThanInitialShare = "LessThanInitialShare",
    }
}

/// Fair sharing within cohorts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FairSharing {
    /// When to preempt; the second is tried where the first finds too few.
    #[serde(deserialize_with = "super::nullable")]
    pub preemption_strategies: Vec<String>,
}

impl FairSharing {
    /// The strategies in force, those that are known.
    pub fn strategies(&self) -> Vec<PreemptionStrategy> {
        self.preemption_strategies
            .iter()
            .filter_map(|s| s.parse().ok())
            .collect()
    }
}

/// Fair sharing among LocalQueues over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionFairSharing {
    /// After which time past usage counts half; zero forgets it at once.
    pub usage_half_life_time: Duration,
    /// How often usage is sampled. Default 5m.
    pub usage_sampling_interval: Duration,
    /// Weights of resources. Default 1 each.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub resource_weights: BTreeMap<String, f64>,
}

wire_enum! {
    /// What happens to requests for resources the ClusterQueue has no quota for.
    QuotaCheckStrategy {
        /// The workload is not admitted.
        BlockUndeclared = "BlockUndeclared",
        /// They do not count.
        IgnoreUndeclared = "IgnoreUndeclared",
    }
}

/// How resources are counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// What happens to requests without quota: `BlockUndeclared` (default) or `IgnoreUndeclared`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_check_strategy: Option<String>,
    /// Resources whose names begin so do not count.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub exclude_resource_prefixes: Vec<String>,
    /// Resources that count as others.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub transformations: Vec<ResourceTransformation>,
    /// Devices that count as resources.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub device_class_mappings: Vec<DeviceClassMapping>,
}

impl Resources {
    /// The quota check in force.
    pub fn quota_check_strategy(&self) -> QuotaCheckStrategy {
        let named = self
            .quota_check_strategy
            .as_deref()
            .and_then(|s| s.parse().ok());
        named.unwrap_or(QuotaCheckStrategy::BlockUndeclared)
    }
}

wire_enum! {
    /// Whether a transformed resource itself still counts.
    ResourceTransformationStrategy {
        /// It does.
        Retain = "Retain",
        /// It does not.
        Replace = "Replace",
    }
}

/// A resource that counts as others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceTransformation {
    /// The resource.
    pub input: String,
    /// Whether it still counts itself: `Retain` (default) or `Replace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Another resource whose amount multiplies the outputs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub multiply_by: String,
    /// What one unit counts as.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub outputs: ResourceList,
}

impl ResourceTransformation {
    /// The strategy in force.
    pub fn strategy(&self) -> ResourceTransformationStrategy {
        let named = self.strategy.as_deref().and_then(|s| s.parse().ok());
        named.unwrap_or(ResourceTransformationStrategy::Retain)
    }
}

/// Devices that count as a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClassMapping {
    /// The resource they count as.
    pub name: String,
    /// Their DeviceClasses.
    #[serde(deserialize_with = "super::nullable")]
    pub device_class_names: Vec<String>,
    /// What of them is counted; without it, how many.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub sources: Vec<DeviceClassSourceConfig>,
}

/// What of devices is counted; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClassSourceConfig {
    /// A counter that partitions use up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<DeviceSourceSelector>,
    /// A capacity that is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<DeviceSourceSelector>,
}

/// A counter or capacity of devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceSourceSelector {
    /// Its name.
    pub name: String,
    /// The driver of the devices.
    pub driver: String,
    /// Which of the driver's devices.
    pub device_selector: DeviceSelector,
}
