//! [`AssignmentError`]: the error for which a pod set gets no flavors.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::resources::FlavorName;

/// The error for which a pod set gets no flavors. The text is part of the condition message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum AssignmentError {
    /// The node affinity of the pods is invalid.
    #[error("{error}")]
    InvalidAffinity {
        /// The validation error.
        error: String,
    },
    /// Elastic jobs do not support a required topology level.
    #[error("required topology is not supported with ElasticJobsViaWorkloadSlices")]
    ElasticRequired,
    /// Elastic jobs do not support a preferred topology level.
    #[error("preferred topology is not supported with ElasticJobsViaWorkloadSlices")]
    ElasticPreferred,
    /// The ClusterQueue has no TAS flavor.
    #[error("workload requires Topology, but there is no TAS cache information")]
    NoTasCacheInformation,
    /// No TAS flavor is assigned.
    #[error("no TAS flavor assigned")]
    NoTasFlavorAssigned,
    /// Several TAS flavors are assigned.
    #[error("more than one TAS flavor assigned: {}", flavors.join(", "))]
    MultipleTasFlavors {
        /// The flavors.
        flavors: Vec<FlavorName>,
    },
}

impl AssignmentError {
    /// Whether it stays until the workload is changed.
    pub fn is_permanent(&self) -> bool {
        match self {
            AssignmentError::InvalidAffinity { .. }
            | AssignmentError::ElasticRequired
            | AssignmentError::ElasticPreferred => true,
            AssignmentError::NoTasCacheInformation
            | AssignmentError::NoTasFlavorAssigned
            | AssignmentError::MultipleTasFlavors { .. } => false,
        }
    }
}
