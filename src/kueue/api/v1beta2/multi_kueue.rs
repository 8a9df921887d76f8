//! MultiKueueConfig and MultiKueueCluster: workloads that run in other clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::cel;
use crate::wire::nullable;

kind! {
    /// The worker clusters of a MultiKueue AdmissionCheck.
    cluster MultiKueueConfig "kueue.x-k8s.io" "v1beta2" "multikueueconfigs" {
        /// The clusters.
        spec: MultiKueueConfigSpec,
    }
}

wire_enum! {
    /// How the quotas of the manager's ClusterQueue are set.
    QuotaManagementMode {
        /// By the administrator.
        Manual = "Manual",
        /// By the controller, from the quotas of the workers (with the feature gate).
        Automated = "Automated",
    }
}

/// The worker clusters of a MultiKueue check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["clusters"])))]
pub struct MultiKueueConfigSpec {
    /// Names of MultiKueueClusters in the order of preference, all different.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 20), inner(length(max = 256)), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = cel(&[(
            "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0",
            "must be unique",
        )]),
    )))]
    pub clusters: Vec<String>,
    /// How the quotas of the manager's ClusterQueue are set. Default `Manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_management: Option<QuotaManagementMode>,
}

kind! {
    /// A worker cluster.
    cluster MultiKueueCluster "kueue.x-k8s.io" "v1beta2" "multikueueclusters" {
        /// The source of its access data.
        spec: MultiKueueClusterSpec => "is_empty_spec",
        /// Whether it is connected.
        status: MultiKueueClusterStatus,
    }
}

/// Whether no field is set; upstream omits such a spec.
fn is_empty_spec(spec: &&MultiKueueClusterSpec) -> bool {
    **spec == MultiKueueClusterSpec::default()
}

/// The desired state of a worker cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["clusterSource"])))]
pub struct MultiKueueClusterSpec {
    /// The source of the access data.
    #[serde(deserialize_with = "nullable")]
    pub cluster_source: ClusterSource,
}

/// The source of the access data of a cluster; exactly one field is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&[(
    "[has(self.kubeConfig),has(self.clusterProfileRef)].filter(x,x==true).size() == 1",
    "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
)]))))]
pub struct ClusterSource {
    /// A kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfig>,
    /// A ClusterProfile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_profile_ref: Option<ClusterProfileReference>,
}

wire_enum! {
    /// The type of a kubeconfig's location.
    LocationType {
        /// A Secret in the controller's namespace, with the kubeconfig under the key `kubeconfig`.
        Secret = "Secret",
        /// A file on the controller's file system.
        Path = "Path",
    }
}

/// The location of a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["location"])))]
pub struct KubeConfig {
    /// Name of the Secret, or path of the file.
    #[cfg_attr(test, schemars(length(min = 1, max = 256)))]
    pub location: String,
    /// The type of the location. Default `Secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Secret")))]
    pub location_type: Option<LocationType>,
}

impl KubeConfig {
    /// The type of the location, with its default.
    pub fn location_type(&self) -> LocationType {
        self.location_type.unwrap_or(LocationType::Secret)
    }
}

/// A reference to a ClusterProfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct ClusterProfileReference {
    /// Name of the ClusterProfile.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 256)))]
    pub name: String,
}

/// The observed state of a worker cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MultiKueueClusterStatus {
    /// Conditions by type; `Active` is true if the cluster is connected.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
}
