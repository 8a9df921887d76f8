//! `resources`.

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::DeviceSelector;
use serde::{Deserialize, Serialize};

use crate::v1beta2::ResourceList;

wire_enum! {
    /// The handling of requests for resources without quota in the ClusterQueue.
    QuotaCheckStrategy {
        /// The workload is not admitted.
        BlockUndeclared = "BlockUndeclared",
        /// The requests are ignored.
        IgnoreUndeclared = "IgnoreUndeclared",
    }
}

/// Resource management.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// Requests without quota: `BlockUndeclared` (default) or `IgnoreUndeclared`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_check_strategy: Option<String>,
    /// Prefixes of ignored resources.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub exclude_resource_prefixes: Vec<String>,
    /// Resource transformations.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub transformations: Vec<ResourceTransformation>,
    /// Device class mappings.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub device_class_mappings: Vec<DeviceClassMapping>,
}

impl Resources {
    /// The effective quota check strategy.
    pub fn quota_check_strategy(&self) -> QuotaCheckStrategy {
        let named = self
            .quota_check_strategy
            .as_deref()
            .and_then(|s| s.parse().ok());
        named.unwrap_or(QuotaCheckStrategy::BlockUndeclared)
    }
}

wire_enum! {
    /// Whether a transformed resource is kept.
    ResourceTransformationStrategy {
        /// The input is kept.
        Retain = "Retain",
        /// The input is replaced by the outputs.
        Replace = "Replace",
    }
}

/// A resource transformation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceTransformation {
    /// The input resource.
    pub input: String,
    /// `Retain` (default) or `Replace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Another resource whose amount multiplies the outputs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub multiply_by: String,
    /// The outputs per unit of the input.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub outputs: ResourceList,
}

impl ResourceTransformation {
    /// The effective strategy.
    pub fn strategy(&self) -> ResourceTransformationStrategy {
        let named = self.strategy.as_deref().and_then(|s| s.parse().ok());
        named.unwrap_or(ResourceTransformationStrategy::Retain)
    }
}

/// A mapping of DeviceClasses to a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClassMapping {
    /// The resource.
    pub name: String,
    /// The DeviceClasses.
    #[serde(deserialize_with = "super::nullable")]
    pub device_class_names: Vec<String>,
    /// The counted sources; without any, the number of devices.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub sources: Vec<DeviceClassSourceConfig>,
}

/// A counted source of devices; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClassSourceConfig {
    /// A counter of partitionable devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<DeviceSourceSelector>,
    /// A consumable capacity.
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
    /// Selects the driver's devices.
    pub device_selector: DeviceSelector,
}
