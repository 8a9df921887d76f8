//! [`QuotaSlots`]: the quota that a workload needs to be admitted, as numbers that can be compared
//! with the available quota.
//!
//! The numbers are taken from a decision, which evaluated the quota. Must not depend on when
//! workloads are retried.

use std::ops::Range;

use crate::cache::{ClusterQueue, HierarchyNodeId, ResourceGroup};
use crate::config::EngineConfig;
use crate::cycle::{Decision, PodSetDecision};
use crate::flavor_assigner::{FlavorAssignmentAttempt, FlavorMismatch};
use crate::resources::{FlavorName, FlavorResourceId, FlavorResourceTable};

/// The number of a resource that is not requested.
const NOT_REQUESTED: i64 = i64::MIN;
/// The number of a flavor that cannot be assigned.
const IMPOSSIBLE: i64 = i64::MAX;

/// Flavors that a workload may be assigned instead of each other.
#[derive(Clone, Debug)]
struct Alternative {
    /// The flavors with the index of their resource groups.
    flavors: Vec<(usize, FlavorName)>,
    /// Their slots.
    slots: Range<usize>,
}

/// A slot for each flavor resource of a ClusterQueue.
#[derive(Clone, Debug)]
pub(super) struct QuotaSlots {
    pub(super) node: HierarchyNodeId,
    pub(super) flavor_resources: Vec<FlavorResourceId>,
    groups: std::sync::Arc<[ResourceGroup]>,
    alternatives: Vec<Alternative>,
}

impl QuotaSlots {
    /// The slots of a ClusterQueue. If each resource group has one flavor, all flavors are needed,
    /// and otherwise one of them.
    pub(super) fn of(queue: &ClusterQueue, frs: &mut FlavorResourceTable) -> Self {
        let mut slots = QuotaSlots {
            node: queue.node,
            flavor_resources: Vec::new(),
            groups: queue.groups.clone(),
            alternatives: Vec::new(),
        };
        let all_needed = queue.groups.iter().all(|group| group.flavors.len() == 1);
        for (index, group) in queue.groups.iter().enumerate() {
            for flavor in &group.flavors {
                let start = slots.flavor_resources.len();
                let covered = group.covered.iter();
                let of_flavor = covered.map(|&resource| frs.intern(flavor, resource));
                slots.flavor_resources.extend(of_flavor);
                let end = slots.flavor_resources.len();
                let flavor = (index, flavor.clone());
                match slots.alternatives.last_mut().filter(|_| all_needed) {
                    Some(first) => {
                        first.flavors.push(flavor);
                        first.slots.end = end;
                    }
                    None => slots.alternatives.push(Alternative {
                        flavors: vec![flavor],
                        slots: start..end,
                    }),
                }
            }
        }
        slots
    }

    /// Whether there is no choice of flavors, so that no flavor is left to try.
    pub(super) fn has_no_choice(&self) -> bool {
        self.alternatives.len() <= 1
    }

    /// The number of slots.
    pub(super) fn width(&self) -> usize {
        self.flavor_resources.len()
    }

    /// Whether the needed quota is within limits, for all slots of an alternative.
    pub(super) fn are_within(&self, numbers: &[i64], limits: &[i64]) -> bool {
        let within = |alternative: &Alternative| {
            let slots = alternative.slots.clone();
            let (numbers, limits) = (&numbers[slots.clone()], &limits[slots]);
            numbers.iter().zip(limits).all(|(n, limit)| n <= limit)
        };
        self.alternatives.iter().any(within)
    }

    /// The quota that a workload with this number of pod sets needs, by a decision that it does not
    /// fit. None unless any workload with the same scheduling hash becomes inadmissible as long as
    /// this quota is not available.
    pub(super) fn numbers(
        &self,
        decision: &Decision,
        pod_sets: usize,
        frs: &FlavorResourceTable,
        config: &EngineConfig,
    ) -> Option<Vec<i64>> {
        let mut numbers = vec![NOT_REQUESTED; self.width()];
        // With several flavors another pod set may have flavors left to try.
        if self.alternatives.len() > 1 && pod_sets > 1 {
            return None;
        }
        if self.is_never_admitted(decision, config) {
            numbers.fill(IMPOSSIBLE);
            return Some(numbers);
        }
        match self.alternatives.as_slice() {
            [only] => {
                let mut attempts = decision.pod_sets.iter().flat_map(|ps| ps.attempts.iter());
                let mut evaluated = false;
                for attempt in &mut attempts {
                    self.add(attempt, &only.slots, frs, &mut numbers)?;
                    evaluated = true;
                }
                evaluated.then_some(numbers)
            }
            alternatives => {
                let [pod_set] = decision.pod_sets.as_slice() else {
                    return None;
                };
                let group = self.only_group(pod_set)?;
                for alternative in alternatives {
                    let slots = &alternative.slots;
                    let Some((_, flavor)) = alternative.flavors.iter().find(|(g, _)| *g == group)
                    else {
                        numbers[slots.clone()].fill(IMPOSSIBLE);
                        continue;
                    };
                    // A flavor that was not tried may fit.
                    let attempt = pod_set.attempts.iter().find(|a| a.flavor == *flavor)?;
                    self.add(attempt, slots, frs, &mut numbers)?;
                }
                Some(numbers)
            }
        }
    }

    /// Adds the quota that was evaluated for a flavor.
    fn add(
        &self,
        attempt: &FlavorAssignmentAttempt,
        slots: &Range<usize>,
        frs: &FlavorResourceTable,
        numbers: &mut [i64],
    ) -> Option<()> {
        use FlavorMismatch as M;
        match &attempt.mismatch {
            Some(M::OtherThanReplaced | M::MissingResource { .. }) => return None,
            Some(_) => numbers[slots.clone()].fill(IMPOSSIBLE),
            None if attempt.resources.is_empty() => return None,
            None => {}
        }
        for resource in &attempt.resources {
            let fr = frs.get(&attempt.flavor, resource.resource)?;
            let at = self
                .flavor_resources
                .iter()
                .position(|known| *known == fr)?;
            let needed = resource.taken_before.plus(resource.requested).value();
            numbers[at] = numbers[at].max(needed);
        }
        Some(())
    }

    /// Whether a resource is requested that the ClusterQueue does not cover.
    fn is_never_admitted(&self, decision: &Decision, config: &EngineConfig) -> bool {
        let covered = |resource| self.groups.iter().any(|group| group.covers(resource));
        let mut requests = decision.pod_sets.iter().flat_map(|ps| ps.requests.iter());
        !config.ignores_undeclared_resources()
            && requests.any(|(resource, amount)| amount != 0 && !covered(resource))
    }

    /// The resource group of all resources of a pod set; none if there are several.
    fn only_group(&self, pod_set: &PodSetDecision) -> Option<usize> {
        let requests = pod_set.requests.iter();
        let groups = requests.filter_map(|(resource, _)| {
            self.groups.iter().position(|group| group.covers(resource))
        });
        let mut groups: Vec<usize> = groups.collect();
        groups.dedup();
        match groups.as_slice() {
            [group] => Some(*group),
            _ => None,
        }
    }
}
