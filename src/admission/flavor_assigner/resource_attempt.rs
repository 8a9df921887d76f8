//! What came of a flavor, as data: for each resource how much there is and lacks, and why a flavor
//! does not suit the pods at all.
//!
//! Must not know how flavors are tried.

use serde::Serialize;

use super::granular_mode::{FlavorAssignmentMode, PreemptionPossibility};
use crate::resources::{Amount, ResourceName};

/// What came of the quota of one resource in one flavor. Amounts are in the unit quota is counted
/// in: thousandths of a core for `cpu`, whole units for everything else.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAttempt {
    /// The resource.
    pub resource: ResourceName,
    /// How it could be had.
    pub mode: FlavorAssignmentMode,
    /// How far away it borrows; 0 is not at all.
    pub borrow: usize,
    /// What a simulated preemption found, if one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_possibility: Option<PreemptionPossibility>,
    /// What is requested.
    pub requested: Amount,
    /// What pod sets looked at before were given of the same flavor.
    pub taken_before: Amount,
    /// What is left for the ClusterQueue now, borrowed quota included.
    pub available: Amount,
    /// What there would be for the ClusterQueue if nothing were used.
    pub capacity: Amount,
    /// The ClusterQueue's own nominal quota.
    pub nominal: Amount,
    /// How much more would have to be free for the request to fit now; zero when it fits.
    pub lacking: Amount,
}

/// Why a flavor does not suit pods, whatever the quota.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FlavorMismatch {
    /// There is no such ResourceFlavor.
    NotFound,
    /// Pods do not tolerate a taint of its nodes.
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
    /// The node selector or affinity of pods rules out the labels of its nodes.
    NodeAffinity {
        /// The pod set.
        pod_set: String,
    },
    /// The node affinity of pods cannot be read.
    InvalidAffinity {
        /// The pod set.
        pod_set: String,
        /// Why not.
        error: String,
    },
    /// The topology of the flavor, or that it has none, does not go with the placement that pods
    /// ask for.
    Topology {
        /// The pod set.
        pod_set: String,
    },
    /// The workload slice that is replaced has another flavor.
    OtherThanReplaced,
    /// A resource of the group is not provided in this flavor.
    MissingResource {
        /// The resource.
        resource: ResourceName,
    },
}
