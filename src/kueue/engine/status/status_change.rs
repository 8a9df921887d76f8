//! [`StatusChange`]: a change of a Workload's status.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::admission_checks::has_all_required_checks;
use super::admitted_condition::sync_admitted_condition;
use super::eviction::{Eviction, evict, set_preempted};
use super::finish::finish;
use super::preemption_gate::set_blocked_on_preemption_gates;
use super::quota_reservation::{set_quota_reservation, unset_quota_reservation};
use super::resource_requests::propagate_resource_requests;
use crate::feature_gates::Gates;
use kueue_lab_api::v1beta2::{Admission, PodSetRequest, Workload};

/// A change of a Workload's status.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StatusChange {
    /// Reserves quota; admits unless admission checks are pending.
    #[serde(rename_all = "camelCase")]
    Reserve {
        /// The admission.
        admission: Admission,
        /// The admission checks that the status has to list before admission.
        required_checks: BTreeSet<String>,
        /// The worker cluster of the replaced slice.
        #[serde(skip_serializing_if = "Option::is_none")]
        cluster_name: Option<String>,
    },
    /// Unsets the quota reservation, with a reason.
    #[serde(rename_all = "camelCase")]
    Unreserve {
        /// The reason.
        reason: String,
        /// The message.
        message: String,
        /// The resource requests, if they are reported.
        #[serde(skip_serializing_if = "Option::is_none")]
        resource_requests: Option<Vec<PodSetRequest>>,
        /// Whether preemption gates block the workload.
        preemption_gated: bool,
    },
    /// Evicts the workload.
    Evict {
        /// The eviction.
        eviction: Eviction,
        /// The reason of the preemption, if it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        preempted: Option<String>,
    },
    /// Finishes the workload.
    Finish {
        /// The reason.
        reason: String,
        /// The message.
        message: String,
    },
}

impl StatusChange {
    /// Applies the change. False when there is nothing to write.
    pub fn apply(&self, wl: &mut Workload, now: Timestamp, gates: &Gates) -> bool {
        let changed = match self {
            StatusChange::Reserve {
                admission,
                required_checks,
                cluster_name,
            } => {
                if cluster_name.is_some() {
                    wl.status.cluster_name.clone_from(cluster_name);
                }
                set_quota_reservation(wl, admission.clone(), now);
                if has_all_required_checks(wl, required_checks) {
                    sync_admitted_condition(wl, now, gates);
                }
                if gates.topology_aware_scheduling {
                    wl.status.unhealthy_nodes.clear();
                }
                true
            }
            StatusChange::Unreserve {
                reason,
                message,
                resource_requests,
                preemption_gated,
            } => {
                let mut changed = unset_quota_reservation(wl, reason, message, now, gates);
                if let Some(requests) = resource_requests {
                    changed |= propagate_resource_requests(wl, requests);
                }
                if *preemption_gated {
                    // Written only when the condition changed.
                    changed = set_blocked_on_preemption_gates(wl, message, now);
                }
                changed
            }
            StatusChange::Evict {
                eviction,
                preempted,
            } => {
                if let Some(reason) = preempted {
                    set_preempted(wl, reason, &eviction.message, now);
                }
                evict(wl, eviction, now);
                true
            }
            StatusChange::Finish { reason, message } => finish(wl, reason, message, now),
        };
        if changed {
            normalize(wl);
        }
        changed
    }
}

/// Normalizes the status as upstream's admission patch does: resource requests only without an
/// admission, a requeue state only if it is not empty.
fn normalize(wl: &mut Workload) {
    if wl.status.admission.is_some() {
        wl.status.resource_requests.clear();
    }
    let empty =
        |s: &kueue_lab_api::v1beta2::RequeueState| s.count.is_none() && s.requeue_at.is_none();
    if wl.status.requeue_state.as_ref().is_some_and(empty) {
        wl.status.requeue_state = None;
    }
}
