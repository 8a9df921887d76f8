//! Fair sharing: weights, shares and the scope of admission fair sharing.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::Amount;

/// The weight of a ClusterQueue, Cohort or LocalQueue in fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FairSharing {
    /// The comparative advantage when unused quota is shared: the dominant resource share (usage
    /// above nominal quota) is divided by the weight. With weight zero the share is infinite, which
    /// gives this node the lowest precedence. Any other weight must be greater than 10^-9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Amount", extend("x-default" = 1)))]
    pub weight: Option<Quantity>,
}

/// The state of a ClusterQueue or Cohort in fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["weightedShare"])))]
pub struct FairSharingStatus {
    /// The dominant resource share in thousandths of what the cohort can lend, divided by the
    /// weight; zero if usage is within nominal quota; 9223372036854775807 if the node borrows with
    /// weight zero.
    pub weighted_share: i64,
}

wire_enum! {
    /// Whether usage over time orders the LocalQueues of a ClusterQueue.
    AdmissionMode {
        /// Workloads of LocalQueues with lower past usage are admitted first.
        UsageBasedAdmissionFairSharing = "UsageBasedAdmissionFairSharing",
        /// Past usage is ignored.
        NoAdmissionFairSharing = "NoAdmissionFairSharing",
    }
}

/// The scope of admission fair sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["admissionMode"])))]
pub struct AdmissionScope {
    /// The mode of admission fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_mode: Option<AdmissionMode>,
}
