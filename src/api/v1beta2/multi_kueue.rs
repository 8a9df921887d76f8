//! MultiKueueConfig and MultiKueueCluster: workloads that run in other clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::cel;
use crate::wire::nullable;

kind! {
    /// Where the workloads of a MultiKueue check may go.
    cluster MultiKueueConfig "kueue.x-k8s.io" "v1beta2" "multikueueconfigs" {
        /// The clusters.
        spec: MultiKueueConfigSpec,
    }
}

wire_enum! {
    /// Who sets the quotas of the manager's ClusterQueue.
    QuotaManagementMode {
        /// The administrator.
        Manual = "Manual",
        /// The controller, from the quotas of the workers (where the feature gate is on).
        Automated = "Automated",
    }
}

/// The worker clusters of a MultiKueue check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["clusters"])))]
pub struct MultiKueueConfigSpec {
    /// Names of MultiKueueClusters, the preferred first, all different.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 20), inner(length(max = 256)), extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = cel(&[(
            "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0",
            "must be unique",
        )]),
    )))]
    pub clusters: Vec<String>,
    /// Who sets the quotas of the manager's ClusterQueue. Without it, the administrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_management: Option<QuotaManagementMode>,
}

kind! {
    /// A worker cluster.
    cluster MultiKueueCluster "kueue.x-k8s.io" "v1beta2" "multikueueclusters" {
        /// How to reach it.
        spec: MultiKueueClusterSpec => "is_empty_spec",
        /// Whether it is reached.
        status: MultiKueueClusterStatus,
    }
}

/// Whether the spec has nothing set, in which case upstream leaves it out.
fn is_empty_spec(spec: &&MultiKueueClusterSpec) -> bool {
    **spec == MultiKueueClusterSpec::default()
}

/// How to reach a worker cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["clusterSource"])))]
pub struct MultiKueueClusterSpec {
    /// Where the access data come from.
    #[serde(deserialize_with = "nullable")]
    pub cluster_source: ClusterSource,
}

/// Where the access data of a cluster come from; exactly one field is set.
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
    /// What a kubeconfig's location names.
    LocationType {
        /// A Secret in the controller's namespace, with the kubeconfig under the key `kubeconfig`.
        Secret = "Secret",
        /// A file where the controller runs.
        Path = "Path",
    }
}

/// Where a kubeconfig is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["location"])))]
pub struct KubeConfig {
    /// Name of the Secret, or path of the file.
    #[cfg_attr(test, schemars(length(min = 1, max = 256)))]
    pub location: String,
    /// Which of the two. Default `Secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "Secret")))]
    pub location_type: Option<LocationType>,
}

impl KubeConfig {
    /// The sort of location in force.
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

/// What was observed of a worker cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MultiKueueClusterStatus {
    /// Conditions by type; `Active` says whether the cluster is connected.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
}
