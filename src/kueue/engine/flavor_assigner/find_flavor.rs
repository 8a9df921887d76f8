//! Finds the flavor of a resource group.

use super::assigner::{FlavorAssigner, PreemptionOracle};
use super::assignment::{AssignmentStatus, FlavorAssignment};
use super::flavor_attempts::FlavorAssignmentAttempt;
use super::flavor_eligibility::{IneligibleFlavor, check_flavor_for_pod_sets};
use super::flavor_fungibility::tried_flavor_idx;
use super::granular_mode::{GranularMode, PreemptionMode};
use super::resource_attempt::{FlavorMismatch, ResourceAttempt};
use crate::cache::ResourceGroup;
use crate::concurrent_admission::is_flavor_allowed;
use crate::queue::QuotaReservedReason;
use crate::resources::{FlavorName, FlavorResourceQuantities, Requests, ResourceName};
use crate::snapshot_transaction::SnapshotTransaction;
use crate::workload::AssignmentClusterQueueState;
use kueue_lab_reason::FlavorReason;

/// The result of a flavor search in a resource group.
#[derive(Default)]
pub(super) struct FlavorSearchResult {
    /// The flavor of each requested resource of the group, in the order of the requests; empty when
    /// there is none.
    pub flavors: Vec<(ResourceName, FlavorAssignment)>,
    /// The reasons that no flavor fits; none when one does.
    pub status: Option<AssignmentStatus>,
    /// The attempts by flavor.
    pub attempts: Vec<FlavorAssignmentAttempt>,
}

/// The evaluation of one flavor for all resources of the group.
struct FlavorEvaluation {
    mode: GranularMode,
    max_borrow: usize,
    flavors: Vec<(ResourceName, FlavorAssignment)>,
    reasons: Vec<FlavorReason>,
    no_fit_reason: Option<QuotaReservedReason>,
    mismatch: Option<FlavorMismatch>,
    resources: Vec<ResourceAttempt>,
}

impl FlavorAssigner<'_> {
    /// Finds the flavor of the resource group of `resource` that fits these pod sets best, or the
    /// first one that flavor fungibility accepts.
    pub(super) fn find_flavor_for_pod_sets(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        oracle: &mut dyn PreemptionOracle,
        pod_sets: &[usize],
        requests: &Requests,
        resource: ResourceName,
        assigned_usage: &FlavorResourceQuantities,
    ) -> FlavorSearchResult {
        let Some(group) = self.resource_group_for(resource) else {
            let reason = FlavorReason::ResourceUnavailable { resource };
            return FlavorSearchResult {
                status: Some(AssignmentStatus::from(reason)),
                ..Default::default()
            };
        };
        let requests: Requests = requests.iter().filter(|(r, _)| group.covers(*r)).collect();
        let gates = &snapshot.config.gates;
        let with_reasons = gates.unadmitted_workloads_observability;
        let fungible = gates.flavor_fungibility;
        let last = self.wl.last_assignment.as_deref();
        let first =
            AssignmentClusterQueueState::next_flavor_to_try(last, pod_sets[0], resource, gates);

        let mut status = AssignmentStatus::default();
        let mut attempts = Vec::with_capacity(group.flavors.len());
        let mut best: Vec<(ResourceName, FlavorAssignment)> = Vec::new();
        let mut best_mode = GranularMode::WORST;
        let mut attempted = None;
        for (i, flavor) in group.flavors.iter().enumerate().skip(first) {
            attempted = Some(i);
            if let Some(reason) = self.skip_reason(snapshot, flavor, pod_sets, resource) {
                status.reasons.push(reason);
                continue;
            }
            if let Some(ineligible) = self.flavor_mismatch(snapshot, flavor, pod_sets, group) {
                let reason = with_reasons.then_some(QuotaReservedReason::NoMatchingFlavor);
                let IneligibleFlavor {
                    status: mismatch_status,
                    mismatch,
                } = ineligible;
                let reasons = mismatch_status.reasons.clone();
                attempts.push(FlavorAssignmentAttempt::no_fit(
                    flavor.clone(),
                    reasons,
                    Some(mismatch),
                    reason,
                ));
                status.reasons.extend(mismatch_status.reasons);
                if mismatch_status.error.is_some() {
                    status.error = mismatch_status.error;
                    return FlavorSearchResult {
                        status: Some(status),
                        attempts,
                        ..Default::default()
                    };
                }
                continue;
            }
            let evaluation = self.evaluate_flavor(
                snapshot,
                oracle,
                flavor,
                pod_sets,
                &requests,
                assigned_usage,
            );
            status.reasons.extend(evaluation.reasons.iter().cloned());
            let attempt = FlavorAssignmentAttempt::evaluated(
                flavor.clone(),
                evaluation.mode.preemption,
                evaluation.max_borrow,
                evaluation.reasons,
                evaluation.resources,
                evaluation.no_fit_reason.filter(|_| with_reasons),
            );
            attempts.push(FlavorAssignmentAttempt {
                mismatch: evaluation.mismatch,
                ..attempt
            });
            if !fungible {
                if evaluation.mode.preemption > best_mode.preemption {
                    best = evaluation.flavors;
                    best_mode = evaluation.mode;
                    if best_mode.preemption == PreemptionMode::Fit {
                        return FlavorSearchResult {
                            flavors: best,
                            status: None,
                            attempts,
                        };
                    }
                }
                continue;
            }
            if !evaluation.mode.should_try_next_flavor(&self.fungibility) {
                best = evaluation.flavors;
                best_mode = evaluation.mode;
                break;
            }
            if evaluation
                .mode
                .is_preferred_to(best_mode, &self.fungibility)
            {
                best = evaluation.flavors;
                best_mode = evaluation.mode;
            }
        }
        if fungible {
            let tried = tried_flavor_idx(attempted, group.flavors.len());
            best.iter_mut()
                .for_each(|(_, f)| f.tried_flavor_idx = tried);
            if best_mode.preemption == PreemptionMode::Fit {
                return FlavorSearchResult {
                    flavors: best,
                    status: None,
                    attempts,
                };
            }
        }
        FlavorSearchResult {
            flavors: best,
            status: Some(status),
            attempts,
        }
    }

    /// The reason a flavor is skipped.
    fn skip_reason(
        &self,
        snapshot: &SnapshotTransaction<'_>,
        flavor: &FlavorName,
        pod_sets: &[usize],
        resource: ResourceName,
    ) -> Option<FlavorReason> {
        let gates = &snapshot.config.gates;
        let pinned = gates.recompute_assignment_upon_preemption_targets_overlap
            || (gates.topology_aware_scheduling
                && gates.tas_recompute_assignment_within_scheduling_cycle);
        if let Some(nomination) = self.nomination.filter(|n| pinned && !n.is_empty()) {
            let nominated = pod_sets.iter().any(|&i| {
                let name = self.wl.obj.spec.pod_sets.get(i).map(|ps| &ps.name);
                let flavors = name.and_then(|name| nomination.get(name));
                flavors.and_then(|f| f.get(&resource)) == Some(flavor)
            });
            if !nominated {
                return Some(FlavorReason::NotNominated {
                    flavor: flavor.clone(),
                    resource,
                });
            }
        }
        (!is_flavor_allowed(&self.wl.obj, flavor, gates)).then(|| FlavorReason::NotAllowed {
            flavor: flavor.clone(),
        })
    }

    fn flavor_mismatch(
        &self,
        snapshot: &SnapshotTransaction<'_>,
        flavor: &FlavorName,
        pod_sets: &[usize],
        group: &ResourceGroup,
    ) -> Option<IneligibleFlavor> {
        let is_missing = self.missing_flavors.contains(flavor);
        let Some(object) = snapshot.cache.flavor(flavor).filter(|_| !is_missing) else {
            let flavor = flavor.clone();
            let reason = FlavorReason::NotFound { flavor };
            return Some(IneligibleFlavor::new(reason, FlavorMismatch::NotFound));
        };
        let pod_sets = pod_sets
            .iter()
            .filter_map(|&i| self.wl.obj.spec.pod_sets.get(i));
        check_flavor_for_pod_sets(snapshot, self.node, object, pod_sets, group)
    }

    /// Evaluates the quota of a flavor for each requested resource.
    fn evaluate_flavor(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        oracle: &mut dyn PreemptionOracle,
        flavor: &FlavorName,
        pod_sets: &[usize],
        requests: &Requests,
        assigned_usage: &FlavorResourceQuantities,
    ) -> FlavorEvaluation {
        let mut evaluation = FlavorEvaluation {
            mode: GranularMode::BEST,
            max_borrow: 0,
            flavors: Vec::with_capacity(requests.len()),
            reasons: Vec::with_capacity(requests.len()),
            no_fit_reason: None,
            mismatch: None,
            resources: Vec::with_capacity(requests.len()),
        };
        for (resource, mut amount) in requests.iter() {
            if snapshot.config.gates.elastic_jobs_via_workload_slices {
                amount = self.subtract_replaced_slice(
                    flavor,
                    pod_sets,
                    resource,
                    amount,
                    &mut evaluation,
                );
            }
            let fr = snapshot.cache.hierarchy.frs.intern(flavor, resource);
            let quota =
                self.fits_resource_quota(snapshot, oracle, fr, assigned_usage.get(fr), amount);
            evaluation.resources.push(quota.attempt);
            if let Some((reason, kind)) = quota.no_fit {
                evaluation.reasons.push(reason);
                evaluation.no_fit_reason =
                    QuotaReservedReason::most_severe(evaluation.no_fit_reason, kind);
            }
            evaluation.max_borrow = evaluation.max_borrow.max(quota.mode.borrow);
            if evaluation
                .mode
                .is_preferred_to(quota.mode, &self.fungibility)
            {
                evaluation.mode = quota.mode;
            }
            if evaluation.mode.preemption != PreemptionMode::NoFit {
                let assignment = FlavorAssignment {
                    flavor: flavor.clone(),
                    mode: quota.mode.preemption.mode(),
                    tried_flavor_idx: 0,
                    borrow: quota.mode.borrow,
                };
                evaluation.flavors.push((resource, assignment));
            }
        }
        evaluation
    }

    /// The requests beyond those of the replaced slice. Both slices must have the same flavor.
    fn subtract_replaced_slice(
        &self,
        flavor: &FlavorName,
        pod_sets: &[usize],
        resource: ResourceName,
        mut amount: i64,
        evaluation: &mut FlavorEvaluation,
    ) -> i64 {
        let Some(old) = self.replaced else {
            return amount;
        };
        for total in pod_sets.iter().filter_map(|&i| old.total_requests.get(i)) {
            let original = total.flavors.get(&resource);
            if original != Some(flavor) {
                evaluation.mode = GranularMode::WORST;
                evaluation.mismatch = Some(FlavorMismatch::OtherThanReplaced);
                evaluation.reasons.push(FlavorReason::OtherThanReplaced {
                    flavor: flavor.clone(),
                    replaced: original.cloned().unwrap_or_default(),
                });
                evaluation.no_fit_reason = QuotaReservedReason::most_severe(
                    evaluation.no_fit_reason,
                    Some(QuotaReservedReason::NoMatchingFlavor),
                );
                break;
            }
            amount = amount.saturating_sub(total.requests.get(resource));
        }
        amount
    }
}
