//! [`Assignment`]: the flavors of all pod sets of a workload, with their modes.
//!
//! Must not depend on how flavors are assigned.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::flavor_attempts::{FlavorAssignmentAttempt, format_attempts_for_events};
use super::granular_mode::FlavorAssignmentMode;
use crate::cache::ClusterQueue;
use crate::config::EngineConfig;
use crate::queue::QuotaReservedReason;
use crate::resources::{
    Amount, FlavorName, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable, Requests,
    ResourceFormatter, ResourceName,
};
use crate::tas;
use crate::topology_assignment::TopologyAssignment;
use crate::workload::{AssignmentClusterQueueState, Info, TasUsage};
use kueue_lab_api::v1beta2::{self as api, DelayedTopologyRequestState};
use kueue_lab_reason::{
    AssignmentError, FlavorReason, InadmissibleCause, PodSetReasons, TasFailure,
};

/// The flavor of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct FlavorAssignment {
    /// The flavor.
    pub flavor: FlavorName,
    /// The assignment mode.
    pub mode: FlavorAssignmentMode,
    /// The index of the last tried flavor; -1 when all flavors were tried.
    pub tried_flavor_idx: i32,
    /// The borrowing level; 0 is no borrowing.
    pub borrow: usize,
}

/// The reasons that a pod set does not fit; empty if it fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssignmentStatus {
    /// The reasons, in the order they were found.
    pub reasons: Vec<FlavorReason>,
    /// The error for which no flavors were assigned.
    pub error: Option<AssignmentError>,
}

impl AssignmentStatus {
    /// Whether the pod set fits.
    pub(crate) fn is_fit(&self) -> bool {
        self.error.is_none() && self.reasons.is_empty()
    }
}

impl From<FlavorReason> for AssignmentStatus {
    fn from(reason: FlavorReason) -> Self {
        AssignmentStatus {
            reasons: vec![reason],
            error: None,
        }
    }
}

/// The flavor assignment of one pod set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSetAssignment {
    /// The pod set.
    pub name: String,
    /// The flavor of each resource, by its index in [`Assignment::flavors`]: the pod sets of one
    /// group share them.
    pub flavors: BTreeMap<ResourceName, usize>,
    /// The index of its group in [`Assignment::attempts`].
    pub group: usize,
    /// The reasons that it does not fit.
    pub status: AssignmentStatus,
    /// The total requests.
    pub requests: Requests,
    /// The number of pods.
    pub count: i32,
    /// The topology assignment.
    pub topology_assignment: Option<TopologyAssignment>,
    /// The state of a delayed topology request.
    pub delayed_topology_request: Option<DelayedTopologyRequestState>,
}

/// The flavor assignment of a workload, which may be incomplete.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// The pod sets.
    pub pod_sets: Vec<PodSetAssignment>,
    /// The assigned flavors.
    pub flavors: Vec<FlavorAssignment>,
    /// The attempts by flavor, for each group of pod sets.
    pub attempts: Vec<Vec<FlavorAssignmentAttempt>>,
    /// The borrowing level; 0 is no borrowing.
    pub borrowing: usize,
    /// The last tried flavors.
    pub last_state: AssignmentClusterQueueState,
    /// The quota usage, without that of a replaced slice.
    pub usage: FlavorResourceQuantities,
    /// The usage of topology domains, without that of the current admission.
    pub tas_usage: TasUsage,
    /// The reason why it does not fit.
    pub no_fit_reason: Option<QuotaReservedReason>,
    /// The replaced slice.
    pub(super) replaced: Option<Arc<Info>>,
    pub(super) representative_mode: Option<FlavorAssignmentMode>,
    /// The reason that there is no topology assignment even without usage.
    pub(crate) topology_failure: Option<TopologyFailure>,
}

/// A pod set that has no topology assignment in a flavor even without usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopologyFailure {
    /// The pod set.
    pub(crate) pod_set: String,
    /// The flavor.
    pub(crate) flavor: FlavorName,
    /// Why.
    pub(crate) reason: TasFailure,
}

impl Assignment {
    /// The assignment with a replaced slice, whose quota it takes over.
    #[must_use]
    pub fn with_replaced_slice(self, replaced: Option<Arc<Info>>) -> Self {
        Assignment { replaced, ..self }
    }

    /// The flavor of a resource of a pod set.
    pub fn flavor(
        &self,
        pod_set: &PodSetAssignment,
        resource: ResourceName,
    ) -> Option<&FlavorAssignment> {
        pod_set.flavors.get(&resource).map(|&i| &self.flavors[i])
    }

    /// The flavors of a pod set by resource.
    pub fn flavors_of<'a>(
        &'a self,
        pod_set: &'a PodSetAssignment,
    ) -> impl Iterator<Item = (ResourceName, &'a FlavorAssignment)> {
        pod_set
            .flavors
            .iter()
            .map(|(&resource, &i)| (resource, &self.flavors[i]))
    }

    /// The index of a pod set in the assignment.
    pub fn position(&self, pod_set: &str) -> Option<usize> {
        self.pod_sets.iter().position(|ps| ps.name == pod_set)
    }

    /// The worst mode among the flavors of a pod set.
    pub(crate) fn pod_set_mode(&self, pod_set: &PodSetAssignment) -> FlavorAssignmentMode {
        if pod_set.status.is_fit() {
            return FlavorAssignmentMode::Fit;
        }
        if pod_set.status.error.is_some() {
            return FlavorAssignmentMode::NoFit;
        }
        self.flavors_of(pod_set)
            .map(|(_, f)| f.mode)
            .min()
            .unwrap_or(FlavorAssignmentMode::NoFit)
    }

    /// The worst mode among the pod sets.
    pub fn mode(&self) -> FlavorAssignmentMode {
        if self.pod_sets.is_empty() {
            return FlavorAssignmentMode::NoFit;
        }
        self.representative_mode.unwrap_or_else(|| {
            self.pod_sets
                .iter()
                .map(|ps| self.pod_set_mode(ps))
                .min()
                .unwrap_or(FlavorAssignmentMode::NoFit)
        })
    }

    /// Fixes the mode, so that reasons recorded later do not change it.
    pub(super) fn fix_representative_mode(&mut self) -> FlavorAssignmentMode {
        let mode = self.mode();
        if !self.pod_sets.is_empty() {
            self.representative_mode = Some(mode);
        }
        mode
    }

    /// Sets the mode of the whole assignment.
    pub(crate) fn set_mode(&mut self, mode: FlavorAssignmentMode) {
        self.representative_mode = Some(mode);
        let used: Vec<usize> = self
            .pod_sets
            .iter()
            .flat_map(|ps| ps.flavors.values().copied())
            .collect();
        for i in used {
            self.flavors[i].mode = mode;
        }
    }

    /// Sets the mode of a pod set's flavors, and that of the assignment.
    pub(super) fn update_mode(&mut self, pod_set: &str, mode: FlavorAssignmentMode) {
        let Some(at) = self.position(pod_set) else {
            return;
        };
        for &i in self.pod_sets[at].flavors.values() {
            self.flavors[i].mode = mode;
        }
        self.representative_mode = Some(mode);
    }

    /// Records the error for which a pod set got no flavors.
    pub(super) fn set_error(&mut self, at: usize, error: AssignmentError) {
        self.pod_sets[at].status.error = Some(error);
        self.representative_mode = None;
    }

    /// Why pod sets do not fit; none if all do.
    pub(crate) fn inadmissible_cause(&self) -> Option<InadmissibleCause> {
        let mut pod_sets = Vec::new();
        for ps in self.pod_sets.iter().filter(|ps| !ps.status.is_fit()) {
            let name = ps.name.clone();
            if let Some(error) = &ps.status.error {
                return Some(InadmissibleCause::AssignmentFailed {
                    pod_set: name,
                    error: error.clone(),
                });
            }
            let reasons = ps.status.reasons.clone();
            pod_sets.push(PodSetReasons { name, reasons });
        }
        (!pod_sets.is_empty()).then_some(InadmissibleCause::NotAssigned { pod_sets })
    }

    /// The attempted flavors, as the QuotaReserved Event prints them.
    pub(crate) fn format_attempts_for_events(&self, formatter: &ResourceFormatter) -> String {
        let pod_sets = self.pod_sets.iter().map(|ps| {
            let attempts = self
                .attempts
                .get(ps.group)
                .map(Vec::as_slice)
                .unwrap_or_default();
            (ps.name.as_str(), attempts)
        });
        format_attempts_for_events(pod_sets, formatter)
    }

    /// Converts to the API type.
    pub(crate) fn to_api(&self, config: &EngineConfig) -> Vec<api::PodSetAssignment> {
        let by_prefix = config.gates.tas_assignments_encoding_by_hostname_prefix;
        self.pod_sets
            .iter()
            .map(|ps| api::PodSetAssignment {
                name: ps.name.clone(),
                flavors: self
                    .flavors_of(ps)
                    .map(|(r, f)| (r.as_str().to_owned(), f.flavor.to_string()))
                    .collect(),
                resource_usage: ps
                    .flavors
                    .keys()
                    .map(|&r| {
                        let quantity = config.formatter.quantity(r, ps.requests.get(r));
                        (r.as_str().to_owned(), quantity)
                    })
                    .collect(),
                count: Some(ps.count),
                topology_assignment: ps
                    .topology_assignment
                    .as_ref()
                    .map(|ta| tas::encode(ta, by_prefix)),
                delayed_topology_request: ps.delayed_topology_request,
            })
            .collect()
    }

    /// The quota usage of a workload with this assignment: with the assigned counts, without that
    /// of a replaced slice.
    pub fn total_requests_for(
        &self,
        wl: &Info,
        frs: &mut FlavorResourceTable,
    ) -> FlavorResourceQuantities {
        let mut usage = FlavorResourceQuantities::new();
        for (i, (ps, assigned)) in wl.total_requests.iter().zip(&self.pod_sets).enumerate() {
            let count = match &self.replaced {
                Some(old) => ps.count - old.total_requests.get(i).map_or(0, |o| o.count),
                None => assigned.count,
            };
            for (resource, amount) in ps.scaled_to(count).requests.iter() {
                // Zero requests may have no flavor, nor may undeclared resources if they are
                // ignored.
                let Some(flavor) = self.flavor(assigned, resource).filter(|_| amount != 0) else {
                    continue;
                };
                usage.add(frs.intern(&flavor.flavor, resource), Amount::new(amount));
            }
        }
        usage
    }

    /// The flavor resources that need preemption.
    pub(crate) fn flavor_resources_need_preemption(
        &self,
        frs: &mut FlavorResourceTable,
    ) -> Vec<FlavorResourceId> {
        let mut pairs: Vec<FlavorResourceId> = self
            .pod_sets
            .iter()
            .flat_map(|ps| self.flavors_of(ps))
            .filter(|(_, f)| f.mode == FlavorAssignmentMode::Preempt)
            .map(|(resource, f)| frs.intern(&f.flavor, resource))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// The flavor of each resource of each pod set, for a later assignment in the same cycle.
    pub fn nomination(&self) -> NominationMapping {
        self.pod_sets
            .iter()
            .map(|ps| {
                let flavors = self
                    .flavors_of(ps)
                    .map(|(r, f)| (r, f.flavor.clone()))
                    .collect();
                (ps.name.clone(), flavors)
            })
            .collect()
    }

    /// Computes the reason why the assignment does not fit: within a resource group flavors are
    /// alternatives, so the least severe reason counts; all groups and pod sets are required, so
    /// the most severe one counts.
    pub(super) fn resolve_no_fit_reason(&mut self, queue: &ClusterQueue) {
        if self.mode() != FlavorAssignmentMode::NoFit {
            return;
        }
        let mut overall = None;
        for ps in self
            .pod_sets
            .iter()
            .filter(|ps| self.pod_set_mode(ps) == FlavorAssignmentMode::NoFit)
        {
            let attempts = self
                .attempts
                .get(ps.group)
                .map(Vec::as_slice)
                .unwrap_or_default();
            if attempts.is_empty() {
                let no_flavor = Some(QuotaReservedReason::NoMatchingFlavor);
                overall = QuotaReservedReason::most_severe(overall, no_flavor);
                continue;
            }
            let mut nearest: BTreeMap<isize, Option<QuotaReservedReason>> = BTreeMap::new();
            for (i, attempt) in attempts
                .iter()
                .enumerate()
                .filter(|(_, a)| a.mode == FlavorAssignmentMode::NoFit)
            {
                let groups = queue.groups.iter().enumerate();
                let mut groups: Vec<isize> = groups
                    .filter(|(_, g)| g.flavors.contains(&attempt.flavor))
                    .map(|(i, _)| i as isize)
                    .collect();
                if groups.is_empty() {
                    // A flavor without a group is its own group.
                    groups.push(-1 - i as isize);
                }
                for group in groups {
                    let known = nearest.entry(group).or_insert(attempt.no_fit_reason);
                    let severity = QuotaReservedReason::severity;
                    if severity(attempt.no_fit_reason) < severity(*known) {
                        *known = attempt.no_fit_reason;
                    }
                }
            }
            let of_pod_set = nearest
                .into_values()
                .fold(None, QuotaReservedReason::most_severe);
            overall = QuotaReservedReason::most_severe(overall, of_pod_set);
        }
        self.no_fit_reason = overall;
    }
}

/// The flavor of each resource of each pod set.
pub type NominationMapping = BTreeMap<String, BTreeMap<ResourceName, FlavorName>>;
