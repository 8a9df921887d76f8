//! Settings of jobs: which kinds, how long they may take to start, how long their workloads are kept.

use serde::{Deserialize, Serialize};

use super::Duration;

/// Which kinds of jobs are managed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Integrations {
    /// Kinds that Kueue knows, such as `batch/job`. Default: that one.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub frameworks: Vec<String>,
    /// Kinds managed by others, as `Kind.version.group.com`.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub external_frameworks: Vec<String>,
    /// Labels that Workloads take over from their jobs.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub label_keys_to_copy: Vec<String>,
}

/// How long admitted workloads have to get their pods ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WaitForPodsReady {
    /// How long. Default 30m.
    pub timeout: Duration,
    /// Whether nothing else is admitted meanwhile. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_admission: Option<bool>,
    /// What happens to those that are not ready in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeuing_strategy: Option<RequeuingStrategy>,
    /// How long they have when a pod fails later. Default: as `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_timeout: Option<Duration>,
}

impl WaitForPodsReady {
    /// Whether nothing else is admitted while pods are not ready.
    pub fn blocks_admission(&self) -> bool {
        self.block_admission.unwrap_or(false)
    }
}

wire_enum! {
    /// By which time a workload that is queued again takes its place.
    RequeuingTimestamp {
        /// The time it was created: it goes back to where it was.
        Creation = "Creation",
        /// The time it was evicted: it goes behind those that came meanwhile.
        Eviction = "Eviction",
    }
}

/// What happens to workloads whose pods are not ready in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequeuingStrategy {
    /// By which time they take their place again: `Eviction` (default) or `Creation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// How often until they are deactivated; nothing for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit_count: Option<i32>,
    /// The first delay in seconds; each further one is twice as long. Default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_base_seconds: Option<i32>,
    /// The longest delay in seconds. Default 3600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_max_seconds: Option<i32>,
}

impl RequeuingStrategy {
    /// The timestamp in force.
    pub fn timestamp(&self) -> RequeuingTimestamp {
        let named = self.timestamp.as_deref().and_then(|t| t.parse().ok());
        named.unwrap_or(RequeuingTimestamp::Eviction)
    }

    /// The first delay in seconds.
    pub fn backoff_base_seconds(&self) -> i32 {
        self.backoff_base_seconds.unwrap_or(60)
    }

    /// The longest delay in seconds.
    pub fn backoff_max_seconds(&self) -> i32 {
        self.backoff_max_seconds.unwrap_or(3600)
    }
}

/// How long objects are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRetentionPolicies {
    /// Workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<WorkloadRetentionPolicy>,
}

/// How long workloads are kept; nothing for ever, zero not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadRetentionPolicy {
    /// After they finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_finished: Option<Duration>,
    /// After Kueue deactivated them; then their jobs go too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_deactivated_by_kueue: Option<Duration>,
}
