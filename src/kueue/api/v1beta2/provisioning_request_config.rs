//! ProvisioningRequestConfig: parameters of the provisioning AdmissionCheck.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{Parameter, QUALIFIED, SUBDOMAIN};
use crate::wire::nullable;

kind! {
    /// Parameters of the provisioning AdmissionCheck: class, managed resources and retries.
    cluster ProvisioningRequestConfig "kueue.x-k8s.io" "v1beta2" "provisioningrequestconfigs" {
        /// The parameters.
        spec: ProvisioningRequestConfigSpec,
    }
}

wire_enum! {
    /// Which pod sets of a workload are merged into one pod set of the ProvisioningRequest.
    PodSetMergePolicy {
        /// Those with equal pod templates.
        IdenticalPodTemplates = "IdenticalPodTemplates",
        /// Those whose templates have equal scheduling requirements.
        IdenticalWorkloadSchedulingRequirements = "IdenticalWorkloadSchedulingRequirements",
    }
}

/// The parameters of the provisioning AdmissionCheck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["provisioningClassName"])))]
pub struct ProvisioningRequestConfigSpec {
    /// The provisioning class, such as `check-capacity.autoscaling.x-k8s.io`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 253), regex(pattern = SUBDOMAIN)))]
    pub provisioning_class_name: String,
    /// Parameters of the class. At most 100, each of at most 255 characters.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Parameter>", extend("maxProperties" = 100)))]
    pub parameters: BTreeMap<String, String>,
    /// The managed resources. Pod sets that request none of them are omitted from the request; if
    /// no pod set remains, the check is ready at once. Empty means all resources.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 100), extend("x-kubernetes-list-type" = "set")))]
    pub managed_resources: Vec<String>,
    /// Retries of a failed request. Default: three, after 60, 120 and 240 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = serde_json::json!({
        "backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800,
    }))))]
    pub retry_strategy: Option<ProvisioningRequestRetryStrategy>,
    /// Changes to the pods that direct them to the provisioned nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_set_updates: Option<ProvisioningRequestPodSetUpdates>,
    /// Which pod sets are merged; absent, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_set_merge_policy: Option<PodSetMergePolicy>,
}

/// Changes to the pods of a provisioned workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningRequestPodSetUpdates {
    /// Node selectors to add.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 8), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["key"],
    )))]
    pub node_selector: Vec<ProvisioningRequestPodSetUpdatesNodeSelector>,
}

/// A node selector whose value the autoscaler reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["key", "valueFromProvisioningClassDetail"])))]
pub struct ProvisioningRequestPodSetUpdatesNodeSelector {
    /// The label key.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 317), regex(pattern = QUALIFIED)))]
    pub key: String,
    /// The key in the request's `status.provisioningClassDetails` that holds the label value.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 32768)))]
    pub value_from_provisioning_class_detail: String,
}

/// The retries of a failed ProvisioningRequest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningRequestRetryStrategy {
    /// The number of retries before the workload is deactivated; 0 for none. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = 3)))]
    pub backoff_limit_count: Option<i32>,
    /// The first delay in seconds; doubled with each retry. Default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = 60)))]
    pub backoff_base_seconds: Option<i32>,
    /// The maximum delay in seconds. Default 1800.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = 1800)))]
    pub backoff_max_seconds: Option<i32>,
}

impl ProvisioningRequestRetryStrategy {
    /// The number of retries before the workload is deactivated.
    pub fn backoff_limit_count(&self) -> i32 {
        self.backoff_limit_count.unwrap_or(3)
    }

    /// First delay in seconds.
    pub fn backoff_base_seconds(&self) -> i32 {
        self.backoff_base_seconds.unwrap_or(60)
    }

    /// Maximum delay in seconds.
    pub fn backoff_max_seconds(&self) -> i32 {
        self.backoff_max_seconds.unwrap_or(1800)
    }
}
