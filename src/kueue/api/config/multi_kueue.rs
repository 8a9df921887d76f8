//! `multiKueue`.

use serde::{Deserialize, Serialize};

use super::Duration;

/// The dispatcher that nominates all clusters at once.
pub const DISPATCHER_ALL_AT_ONCE: &str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once";
/// The dispatcher that nominates clusters incrementally.
pub const DISPATCHER_INCREMENTAL: &str = "kueue.x-k8s.io/multikueue-dispatcher-incremental";

/// MultiKueue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiKueue {
    /// Interval of garbage collection in worker clusters; zero to disable. Default 1m.
    pub gc_interval: Option<Duration>,
    /// Label value of this manager's objects in worker clusters. Default `multikueue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Timeout of a lost worker before its workloads are requeued. Default 15m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_lost_timeout: Option<Duration>,
    /// The dispatcher. Default [`DISPATCHER_ALL_AT_ONCE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatcher_name: Option<String>,
    /// External frameworks.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub external_frameworks: Vec<MultiKueueExternalFramework>,
    /// ClusterProfile settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_profile: Option<ClusterProfile>,
    /// Settings of the incremental dispatcher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incremental_dispatcher_config: Option<IncrementalDispatcherConfig>,
}

/// An external framework.
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
    /// The number of clusters added per step. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<i32>,
}

/// ClusterProfile settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfile {
    /// Access providers.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub access_providers: Vec<ClusterProfileAccessProvider>,
    /// The deprecated name of `accessProviders`.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub credentials_providers: Vec<ClusterProfileAccessProvider>,
}

/// An access provider: an exec plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileAccessProvider {
    /// Name of the provider in ClusterProfiles.
    pub name: String,
    /// The exec configuration.
    pub exec_config: ExecConfig,
}

/// The configuration of an exec credential plugin, as in kubeconfig files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecConfig {
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(deserialize_with = "super::nullable")]
    pub args: Vec<String>,
    /// Additional environment variables.
    #[serde(deserialize_with = "super::nullable")]
    pub env: Vec<ExecEnvVar>,
    /// API version of the ExecCredential.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Installation hint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub install_hint: String,
    /// Whether cluster information is passed to it.
    pub provide_cluster_info: bool,
    /// Use of stdin: `Never`, `IfAvailable` or `Always`.
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
