//! [`PreemptionShortageReason`]: why the preemption of all candidates does not suffice.

use serde::{Deserialize, Serialize};

use crate::resources::{Amount, FlavorName, ResourceName};

/// Why the preemption of all candidates that are allowed does not suffice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionShortageReason {
    /// The number of candidates that would be preempted.
    pub targets: usize,
    /// Whether the workload may borrow.
    pub borrowing: bool,
    /// What is missing in each flavor. Empty when the quota suffices and no topology assignment
    /// is found.
    pub resources: Vec<ResourceShortage>,
}

/// The shortage of a resource in a flavor. Amounts are in milli-units for `cpu`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceShortage {
    /// The flavor.
    pub flavor: FlavorName,
    /// The resource.
    pub resource: ResourceName,
    /// The quota that the preemption adds to the available quota.
    pub freed: Amount,
    /// The missing quota.
    pub missing: Amount,
}
