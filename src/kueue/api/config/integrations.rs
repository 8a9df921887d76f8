//! `integrations`.

use serde::{Deserialize, Serialize};

/// The enabled integrations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Integrations {
    /// Built-in frameworks, such as `batch/job` (the default).
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub frameworks: Vec<String>,
    /// Kinds of external controllers, as `Kind.version.group.com`.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub external_frameworks: Vec<String>,
    /// Labels that are copied from jobs to Workloads.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub label_keys_to_copy: Vec<String>,
}
