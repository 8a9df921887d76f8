//! Settings of workloads in other clusters.

use serde::{Deserialize, Serialize};

use super::Duration;

/// Dispatcher that offers a workload to all clusters at once.
pub const DISPATCHER_ALL_AT_ONCE: &str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once";
/// Dispatcher that offers a workload to a few clusters, then to more.
pub const DISPATCHER_INCREMENTAL: &str = "kueue.x-k8s.io/multikueue-dispatcher-incremental";

/// Workloads in other clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiKueue {
    /// How often leftovers in worker clusters are collected; zero for never. Default 1m.
    pub gc_interval: Option<Duration>,
    /// What this manager's objects in worker clusters are labelled with. Default `multikueue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How long a worker may be out of reach until its workloads go elsewhere. Default 15m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_lost_timeout: Option<Duration>,
    /// Who chooses the cluster. Default [`DISPATCHER_ALL_AT_ONCE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatcher_name: Option<String>,
    /// Other kinds of jobs that can be sent, as `Kind.version.group.com`.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub external_frameworks: Vec<MultiKueueExternalFramework>,
    /// How ClusterProfiles are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_profile: Option<ClusterProfile>,
    /// Settings of the incremental dispatcher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incremental_dispatcher_config: Option<IncrementalDispatcherConfig>,
}

/// Another kind of job that can be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiKueueExternalFramework {
    /// The kind, as `Kind.version.group.com`.
    pub name: String,
}

/// Settings of the incremental dispatcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IncrementalDispatcherConfig {
    /// How many clusters are added at a time. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<i32>,
}

/// How ClusterProfiles are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfile {
    /// Programs that get access.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub access_providers: Vec<ClusterProfileAccessProvider>,
    /// The same under its name of old.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub credentials_providers: Vec<ClusterProfileAccessProvider>,
}

/// A program that gets access to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileAccessProvider {
    /// Name of the provider, as ClusterProfiles have it.
    pub name: String,
    /// How the program is run.
    pub exec_config: ExecConfig,
}

/// How a program that gets credentials is run, as in kubeconfig files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecConfig {
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(deserialize_with = "super::nullable")]
    pub args: Vec<String>,
    /// Its environment, on top of ours.
    #[serde(deserialize_with = "super::nullable")]
    pub env: Vec<ExecEnvVar>,
    /// Version of what it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// What to tell people who do not have the program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub install_hint: String,
    /// Whether it is told of the cluster.
    pub provide_cluster_info: bool,
    /// Whether it may ask people: `Never`, `IfAvailable` or `Always`.
    pub interactive_mode: String,
}

/// A variable of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecEnvVar {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}
