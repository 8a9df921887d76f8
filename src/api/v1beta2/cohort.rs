//! Cohort: ClusterQueues and other Cohorts that lend each other quota.

use serde::{Deserialize, Serialize};

use super::{FairSharing, FairSharingStatus, ResourceGroup};
#[cfg(test)]
use crate::schema::ObjectName;
use crate::wire::nullable;

kind! {
    /// A group of ClusterQueues and Cohorts that share unused quota. A cohort that members name but
    /// that has no object is a root without quota and limits of its own.
    cluster Cohort "kueue.x-k8s.io" "v1beta2" "cohorts" {
        /// Place in the tree, extra quota and limits.
        spec: CohortSpec,
        /// What the controller observed.
        status: CohortStatus,
    }
}

/// What is wanted of a Cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CohortSpec {
    /// The Cohort above; empty for a root. It need not exist. While Cohorts form a cycle nothing is
    /// admitted in any of them.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(with = "ObjectName"))]
    pub parent_name: String,
    /// Quota on top of what the members bring, shared by all below this Cohort. Borrowing and
    /// lending limits bound what the subtree takes from and gives to the parent, so they need a
    /// parent. At most 16 groups.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic")))]
    pub resource_groups: Vec<ResourceGroup>,
    /// Weight in fair sharing; has effect only where the configuration turns it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharing>,
}

impl CohortSpec {
    /// The Cohort above, where there is one.
    pub fn parent(&self) -> Option<&str> {
        (!self.parent_name.is_empty()).then_some(self.parent_name.as_str())
    }
}

/// What was observed of a Cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CohortStatus {
    /// Share in the parent; only where fair sharing is turned on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<FairSharingStatus>,
}
