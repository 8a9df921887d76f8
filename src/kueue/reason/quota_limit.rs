//! [`QuotaShortfall`]: the quota that a pod set lacks, and the quotas and limits that cause it.

use serde::{Deserialize, Serialize};

use crate::resources::{Amount, FlavorName, ResourceName};

/// A field of the quota of a resource in a flavor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuotaField {
    /// `nominalQuota`.
    NominalQuota,
    /// `borrowingLimit`.
    BorrowingLimit,
    /// `lendingLimit`.
    LendingLimit,
}

impl QuotaField {
    /// The name of the field.
    pub fn name(self) -> &'static str {
        match self {
            Self::NominalQuota => "nominalQuota",
            Self::BorrowingLimit => "borrowingLimit",
            Self::LendingLimit => "lendingLimit",
        }
    }
}

/// The kind of the object that sets a quota or limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum QuotaObject {
    /// A ClusterQueue.
    ClusterQueue,
    /// A Cohort: its quota is its own and what the ClusterQueues and Cohorts below it lend.
    Cohort,
}

impl QuotaObject {
    /// The kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterQueue => "ClusterQueue",
            Self::Cohort => "Cohort",
        }
    }
}

/// A quota or limit of which a pod set needs more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaLimit {
    /// The kind of the object that sets it.
    pub object: QuotaObject,
    /// The name of the object.
    pub name: String,
    /// The field.
    pub field: QuotaField,
    /// Its amount; of a Cohort's nominal quota with what is lent to it.
    pub amount: Amount,
}

/// The quota that a pod set lacks in a flavor, and why. Amounts are in milli-units for `cpu`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaShortfall {
    /// The pod set.
    pub pod_set: String,
    /// The flavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: ResourceName,
    /// What it requests, with earlier pod sets in the flavor.
    pub requested: Amount,
    /// The quota that is available now.
    pub available: Amount,
    /// The missing quota.
    pub missing: Amount,
    /// The quota or limit that is reached first, and the lending limits that withhold unused quota from it.
    pub limits: Vec<QuotaLimit>,
}
