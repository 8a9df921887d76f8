//! [`FlavorReason`]: why a pod set does not fit in a flavor.

use serde::{Deserialize, Serialize};

use crate::TasFailure;
use crate::resources::{Amount, FlavorName, ResourceName};

/// A reason why a pod set does not fit in a flavor, or only after preemption. Amounts are in
/// milli-units for `cpu`, whole units for all other resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FlavorReason {
    /// No resource group of the ClusterQueue covers a resource.
    ResourceUnavailable {
        /// The resource.
        resource: ResourceName,
    },
    /// A recomputation in the cycle is limited to the flavors of the nomination.
    NotNominated {
        /// The flavor.
        flavor: FlavorName,
        /// The resource.
        resource: ResourceName,
    },
    /// An annotation of the variant does not allow the flavor.
    NotAllowed {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The ResourceFlavor does not exist.
    NotFound {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The flavor has a topology, and the pod set requests none.
    OnlyTopologyAwareScheduling {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The pod set requests a topology, and the flavor has none.
    NoTopologyAwareScheduling {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The topology of the flavor is unknown.
    NotInTasCache {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The topology of the flavor does not have the requested level.
    NoRequestedLevel {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The pods do not tolerate a taint of the flavor.
    UntoleratedTaint {
        /// The flavor.
        flavor: FlavorName,
        /// The taint.
        taint: UntoleratedTaint,
    },
    /// The node selector or affinity of the pods does not match the node labels of the flavor.
    NodeAffinityMismatch {
        /// The flavor.
        flavor: FlavorName,
    },
    /// The request exceeds the available quota without any usage.
    InsufficientQuota {
        /// The flavor.
        flavor: FlavorName,
        /// The resource.
        resource: ResourceName,
        /// The requests of earlier pod sets assigned the same flavor.
        taken_before: Amount,
        /// The request, in the unit of an [`Amount`].
        requested: i64,
        /// The available quota of the ClusterQueue without any usage.
        capacity: Amount,
    },
    /// The request exceeds the available quota.
    InsufficientUnusedQuota {
        /// The flavor.
        flavor: FlavorName,
        /// The resource.
        resource: ResourceName,
        /// The missing quota.
        missing: Amount,
    },
    /// The replaced workload slice is assigned another flavor.
    OtherThanReplaced {
        /// The flavor.
        flavor: FlavorName,
        /// That of the replaced slice; empty if it has none.
        replaced: FlavorName,
    },
    /// The flavor does not provide a resource of its group.
    ResourceNotProvided {
        /// The flavor.
        flavor: FlavorName,
        /// The resource.
        resource: ResourceName,
    },
    /// The pods have no topology assignment.
    NoTopologyAssignment {
        /// Why.
        failure: TasFailure,
    },
    /// A sentence that is not known.
    Other {
        /// The sentence.
        message: String,
    },
}

/// A taint that is not tolerated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UntoleratedTaint {
    /// The key.
    pub key: String,
    /// The value; may be empty.
    pub value: String,
    /// The effect.
    pub effect: String,
    /// The time at which it was added, as Go prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_added: Option<String>,
}

impl FlavorReason {
    /// The flavor that the reason names.
    pub fn flavor(&self) -> Option<&FlavorName> {
        match self {
            FlavorReason::NotNominated { flavor, .. }
            | FlavorReason::NotAllowed { flavor }
            | FlavorReason::NotFound { flavor }
            | FlavorReason::OnlyTopologyAwareScheduling { flavor }
            | FlavorReason::NoTopologyAwareScheduling { flavor }
            | FlavorReason::NotInTasCache { flavor }
            | FlavorReason::NoRequestedLevel { flavor }
            | FlavorReason::UntoleratedTaint { flavor, .. }
            | FlavorReason::NodeAffinityMismatch { flavor }
            | FlavorReason::InsufficientQuota { flavor, .. }
            | FlavorReason::InsufficientUnusedQuota { flavor, .. }
            | FlavorReason::OtherThanReplaced { flavor, .. }
            | FlavorReason::ResourceNotProvided { flavor, .. } => Some(flavor),
            FlavorReason::ResourceUnavailable { .. }
            | FlavorReason::NoTopologyAssignment { .. }
            | FlavorReason::Other { .. } => None,
        }
    }

    /// Whether pods cannot use the flavor, regardless of quota and usage.
    pub(crate) fn is_mismatch(&self) -> bool {
        matches!(
            self,
            FlavorReason::NotFound { .. }
                | FlavorReason::OnlyTopologyAwareScheduling { .. }
                | FlavorReason::NoTopologyAwareScheduling { .. }
                | FlavorReason::NotInTasCache { .. }
                | FlavorReason::NoRequestedLevel { .. }
                | FlavorReason::UntoleratedTaint { .. }
                | FlavorReason::NodeAffinityMismatch { .. }
                | FlavorReason::OtherThanReplaced { .. }
                | FlavorReason::ResourceNotProvided { .. }
        )
    }
}
