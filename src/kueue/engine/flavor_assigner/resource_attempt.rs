//! The result of an attempt as data: for each resource the available and missing quota, and why
//! pods cannot use a flavor.
//!
//! Must not depend on how flavors are assigned.

use serde::{Deserialize, Serialize};

use super::granular_mode::{FlavorAssignmentMode, PreemptionPossibility};
use crate::resources::{Amount, ResourceName};

/// The evaluated quota of one flavor resource. Amounts are in milli-units for `cpu`, whole units
/// for all other resources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAttempt {
    /// The resource.
    pub resource: ResourceName,
    /// The assignment mode.
    pub mode: FlavorAssignmentMode,
    /// The borrowing level; 0 is no borrowing.
    pub borrow: usize,
    /// The result of the simulated preemption, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_possibility: Option<PreemptionPossibility>,
    /// The request.
    pub requested: Amount,
    /// The requests of earlier pod sets assigned the same flavor.
    pub taken_before: Amount,
    /// The available quota of the ClusterQueue, including what it can borrow.
    pub available: Amount,
    /// The available quota of the ClusterQueue without any usage.
    pub capacity: Amount,
    /// The nominal quota of the ClusterQueue.
    pub nominal: Amount,
    /// The missing quota; zero when the request fits.
    pub missing: Amount,
}

/// The reason that pods cannot use a flavor, regardless of quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FlavorMismatch {
    /// The ResourceFlavor does not exist.
    NotFound,
    /// The pods do not tolerate a taint of its nodes.
    UntoleratedTaint {
        /// The pod set.
        pod_set: String,
        /// The key of the taint.
        key: String,
        /// Its value.
        value: String,
        /// Its effect.
        effect: String,
    },
    /// The node selector or affinity of the pods does not match its node labels.
    NodeAffinity {
        /// The pod set.
        pod_set: String,
    },
    /// The node affinity of the pods is invalid.
    InvalidAffinity {
        /// The pod set.
        pod_set: String,
        /// The validation error.
        error: String,
    },
    /// The flavor does not support the topology request of the pods.
    Topology {
        /// The pod set.
        pod_set: String,
    },
    /// The replaced workload slice is assigned another flavor.
    OtherThanReplaced,
    /// The flavor does not provide a resource of the group.
    MissingResource {
        /// The resource.
        resource: ResourceName,
    },
}
