//! Fair sharing: weights, shares and the scope of admission fair sharing.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::Amount;

/// How a ClusterQueue, Cohort or LocalQueue takes part in fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FairSharing {
    /// The advantage over others when unused quota is shared out: the share that decides (dominant
    /// usage above nominal quota) is divided by the weight. Zero makes the share infinite, so
    /// that this one always comes last. A weight other than zero must be above 10^-9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Amount", extend("x-default" = 1)))]
    pub weight: Option<Quantity>,
}

/// Where a ClusterQueue or Cohort stands in fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["weightedShare"])))]
pub struct FairSharingStatus {
    /// The dominant resource share in thousandths of what the cohort can lend, divided by the
    /// weight; zero while usage stays within nominal quota; 9223372036854775807 when something is
    /// borrowed with weight zero.
    pub weighted_share: i64,
}

wire_enum! {
    /// Whether usage over time orders the LocalQueues of a ClusterQueue.
    AdmissionMode {
        /// LocalQueues that used less are served first.
        UsageBasedAdmissionFairSharing = "UsageBasedAdmissionFairSharing",
        /// Past usage does not matter.
        NoAdmissionFairSharing = "NoAdmissionFairSharing",
    }
}

/// The part of admission that admission fair sharing governs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["admissionMode"])))]
pub struct AdmissionScope {
    /// Which form of admission fair sharing is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_mode: Option<AdmissionMode>,
}
