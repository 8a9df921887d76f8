//! `objectRetentionPolicies`.

use serde::{Deserialize, Serialize};

use super::Duration;

/// Retention of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRetentionPolicies {
    /// Workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<WorkloadRetentionPolicy>,
}

/// Retention of Workloads; `None` keeps them, zero deletes them immediately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadRetentionPolicy {
    /// After they finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_finished: Option<Duration>,
    /// After Kueue deactivates them; their jobs are deleted too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_deactivated_by_kueue: Option<Duration>,
}
