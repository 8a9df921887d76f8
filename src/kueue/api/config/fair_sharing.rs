//! `fairSharing` and `admissionFairSharing`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Duration;

wire_enum! {
    /// A preemption strategy of fair sharing.
    PreemptionStrategy {
        /// The preemptor's share after the preemption is at most the target's share after it.
        LessThanOrEqualToFinalShare = "LessThanOrEqualToFinalShare",
        /// The preemptor's share after the preemption is below the target's share before it.
        LessThanInitialShare = "LessThanInitialShare",
    }
}

/// Fair sharing within cohorts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FairSharing {
    /// The strategies; the second is used if the first finds too few targets.
    #[serde(deserialize_with = "super::nullable")]
    pub preemption_strategies: Vec<String>,
}

impl FairSharing {
    /// The known strategies, with the default.
    pub fn strategies(&self) -> Vec<PreemptionStrategy> {
        self.preemption_strategies
            .iter()
            .filter_map(|s| s.parse().ok())
            .collect()
    }
}

/// Admission fair sharing among LocalQueues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionFairSharing {
    /// Half-life of past usage; zero to ignore past usage.
    pub usage_half_life_time: Duration,
    /// Sampling interval of usage. Default 5m.
    pub usage_sampling_interval: Duration,
    /// Weights of resources. Default 1 each.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "super::nullable"
    )]
    pub resource_weights: BTreeMap<String, f64>,
}
