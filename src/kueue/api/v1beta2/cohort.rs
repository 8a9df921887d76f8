//! Cohort: ClusterQueues and Cohorts that lend each other quota.

use serde::{Deserialize, Serialize};

use super::{FairSharing, FairSharingStatus, ResourceGroup};
#[cfg(test)]
use crate::schema::ObjectName;
use crate::wire::nullable;

kind! {
    /// A group of ClusterQueues and Cohorts that share unused quota. A cohort that is referenced
    /// but has no object is a root without quota and limits of its own.
    cluster Cohort "kueue.x-k8s.io" "v1beta2" "cohorts" {
        /// The parent, additional quota and limits.
        spec: CohortSpec,
        /// The observed state.
        status: CohortStatus,
    }
}

/// The desired state of a Cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CohortSpec {
    /// The parent Cohort; empty for a root. The object may be absent. While Cohorts form a cycle,
    /// no workload is admitted in any of them.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub parent_name: String,
    /// Quota in addition to that of the members, shared by the subtree of this Cohort. Borrowing
    /// and lending limits apply between the subtree and the parent, and require a parent. At most
    /// 16 groups.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic")))]
    pub resource_groups: Vec<ResourceGroup>,
    /// Weight in fair sharing; takes effect if the configuration enables fair sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
}

impl CohortSpec {
    /// The parent Cohort, if any.
    pub fn parent(&self) -> Option<&str> {
        (!self.parent_name.is_empty()).then_some(self.parent_name.as_str())
    }
}

/// The observed state of a Cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CohortStatus {
    /// Share in the parent; only if fair sharing is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharingStatus>,
}
