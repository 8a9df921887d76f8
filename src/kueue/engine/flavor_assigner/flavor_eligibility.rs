//! Whether pods can use a flavor: it exists, supports their topology request, its taints are
//! tolerated and its node labels match.
//!
//! Must not depend on quota.

use k8s_openapi::api::core::v1::PodSpec;

use super::assignment::AssignmentStatus;
use super::resource_attempt::FlavorMismatch;
use super::tas_flavor_assigner::check_pod_set_and_flavor_match_for_tas;
use crate::cache::{HierarchyNodeId, ResourceGroup};
use crate::kube::taints::{find_untolerated, untolerated_taint};
use crate::resources::FlavorName;
use crate::snapshot_transaction::SnapshotTransaction;
use kueue_lab_api::v1beta2::{PodSet, ResourceFlavor};
use kueue_lab_component_helpers::node_affinity::RequiredNodeAffinity;
use kueue_lab_reason::{AssignmentError, FlavorReason};

/// The reason that pod sets cannot use a flavor: as status for messages, and as data.
pub(super) struct IneligibleFlavor {
    pub status: AssignmentStatus,
    pub mismatch: FlavorMismatch,
}

impl IneligibleFlavor {
    pub(super) fn new(reason: FlavorReason, mismatch: FlavorMismatch) -> Self {
        IneligibleFlavor {
            status: AssignmentStatus::from(reason),
            mismatch,
        }
    }
}

/// The reason that pod sets that share a flavor cannot use it; none when they can.
pub(super) fn check_flavor_for_pod_sets<'p>(
    snapshot: &SnapshotTransaction<'_>,
    node: HierarchyNodeId,
    flavor: &ResourceFlavor,
    pod_sets: impl Iterator<Item = &'p PodSet>,
    group: &ResourceGroup,
) -> Option<IneligibleFlavor> {
    let name = flavor.metadata.name.as_deref().unwrap_or_default();
    let labels = &flavor.spec.node_labels;
    let no_spec = PodSpec::default();
    for ps in pod_sets {
        if snapshot.config.gates.topology_aware_scheduling
            && let Some(mismatch) =
                check_pod_set_and_flavor_match_for_tas(snapshot, node, ps, flavor, group)
        {
            let pod_set = ps.name.clone();
            return Some(IneligibleFlavor::new(
                mismatch,
                FlavorMismatch::Topology { pod_set },
            ));
        }
        let spec = ps.template.spec.as_ref().unwrap_or(&no_spec);
        let tolerations = spec
            .tolerations
            .iter()
            .flatten()
            .chain(&flavor.spec.tolerations);
        if let Some(taint) = find_untolerated(&flavor.spec.node_taints, tolerations) {
            let reason = FlavorReason::UntoleratedTaint {
                flavor: FlavorName::from(name),
                taint: untolerated_taint(taint),
            };
            let mismatch = FlavorMismatch::UntoleratedTaint {
                pod_set: ps.name.clone(),
                key: taint.key.clone(),
                value: taint.value.clone().unwrap_or_default(),
                effect: taint.effect.clone(),
            };
            return Some(IneligibleFlavor::new(reason, mismatch));
        }
        match RequiredNodeAffinity::restricted_to(spec, labels).matches("", labels) {
            Ok(true) => {}
            Ok(false) => {
                let reason = FlavorReason::NodeAffinityMismatch {
                    flavor: FlavorName::from(name),
                };
                let pod_set = ps.name.clone();
                return Some(IneligibleFlavor::new(
                    reason,
                    FlavorMismatch::NodeAffinity { pod_set },
                ));
            }
            Err(e) => {
                let error = e.to_string();
                return Some(IneligibleFlavor {
                    status: AssignmentStatus {
                        reasons: Vec::new(),
                        error: Some(AssignmentError::InvalidAffinity {
                            error: error.clone(),
                        }),
                    },
                    mismatch: FlavorMismatch::InvalidAffinity {
                        pod_set: ps.name.clone(),
                        error,
                    },
                });
            }
        }
    }
    None
}
