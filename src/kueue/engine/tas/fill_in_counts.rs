//! Phase 1: how many pods, slices and leaders fit in each domain.
//!
//! Must not select domains.

use super::assumed_usage::AssumedUsage;
use super::leaf_capacity::LeafCapacity;
use super::node_filter::NodeMatches;
use super::placement::{DomainState, Placement};
use super::topology_tree::{Domain, Leaf};
use crate::resources::{Requests, ResourceName};
use kueue_lab_reason::TasExclusionStats;

/// The limits of the pods on a leaf.
pub(super) struct PodRequirements<'a> {
    /// The free capacity.
    pub(super) capacity: &'a LeafCapacity,
    /// Whether to ignore the usage of workloads.
    pub(super) simulate_empty: bool,
    /// The usage assumed earlier in this search.
    pub(super) assumed: &'a AssumedUsage,
    /// The domain required for the pods, if any.
    pub(super) within: Option<Domain>,
    /// The requests of one worker, including `pods`.
    pub(super) worker: &'a Requests,
    /// The requests of the leader, if there is one.
    pub(super) leader: Option<&'a Requests>,
}

/// A requested resource: requests of worker and leader, capacity of the leaves.
struct RequestedResource<'a> {
    resource: ResourceName,
    worker: i64,
    leader: i64,
    remaining: Option<&'a [i64]>,
    /// The result for the previous leaf, because nodes are often identical.
    last: (i64, i32),
}

/// The number of times that a request fits; zero for negative capacity.
fn times(remaining: i64, request: i64) -> i32 {
    if request == 0 {
        return i32::MAX;
    }
    let times = remaining.checked_div(request).unwrap_or(i64::MAX);
    i32::try_from(times.max(0)).unwrap_or(i32::MAX)
}

impl RequestedResource<'_> {
    fn remaining(&self, leaf: Leaf) -> i64 {
        self.remaining.map_or(0, |column| column[leaf])
    }

    fn fitting(&mut self, remaining: i64) -> i32 {
        if self.last.0 != remaining {
            self.last = (remaining, times(remaining, self.worker));
        }
        self.last.1
    }
}

impl Placement<'_> {
    /// Fills in the counts of all domains; returns the excluded nodes.
    pub(super) fn fill_in_counts(
        &mut self,
        matches: &NodeMatches,
        limits: &PodRequirements<'_>,
    ) -> TasExclusionStats {
        self.states.clear();
        self.states
            .resize(self.tree.domain_count(), DomainState::default());
        let mut exclusions = matches.exclusions.clone();
        self.count_leaves(matches, limits, &mut exclusions);
        for level in (0..self.tree.levels().len()).rev() {
            for domain in self.tree.at_level(level) {
                self.fill_in_domain_counts(domain, level, true);
            }
        }
        exclusions
    }

    fn count_leaves(
        &mut self,
        matches: &NodeMatches,
        limits: &PodRequirements<'_>,
        exclusions: &mut TasExclusionStats,
    ) {
        let mut rows = rows(limits);
        let first = self.tree.leaf_domain(0);
        let assumed = limits.assumed.by_leaf(self.tree);
        let within = limits.within.map(|d| {
            // Kueue matches the name of the domain with the start of each leaf's path. A host below
            // other levels is identified by its name alone, so no leaf is within it.
            let identified_by_hostname = self.tree.lowest_is_node() && self.tree.levels().len() > 1;
            match self.tree.leaves_below(d) {
                leaves if identified_by_hostname && d >= first => leaves.start..leaves.start,
                leaves => leaves,
            }
        });
        let mut short = vec![0usize; rows.len()];
        for (i, &leaf) in matches.leaves.iter().enumerate() {
            let state = &mut self.states[first as usize + leaf];
            state.affinity = matches.scores.get(i).copied().unwrap_or(0);
            if within.as_ref().is_some_and(|w| !w.contains(&leaf)) {
                exclusions.topology_domain += 1;
                continue;
            }
            let assumed_usage = assumed.get(&leaf).copied();
            let (pods, limiting) = workers(&mut rows, leaf, assumed_usage);
            state.pods = pods;
            state.pods_with_leader = pods;
            if pods == 0
                && let Some(count) = short.get_mut(limiting)
            {
                *count += 1;
            }
            if let Some(leader) = limits.leader {
                let on_leaf = |row: &RequestedResource<'_>| {
                    let assumed_usage = assumed_usage.map_or(0, |p| p.get(row.resource));
                    row.remaining(leaf).saturating_sub(assumed_usage)
                };
                let takes = |name| leader.contains(name);
                let fits = !leader.is_empty()
                    && rows
                        .iter()
                        .filter(|row| takes(row.resource))
                        .all(|row| times(on_leaf(row), row.leader) > 0);
                if fits {
                    state.leaders = 1;
                    state.pods_with_leader = rows
                        .iter()
                        .filter(|row| limits.worker.contains(row.resource))
                        .map(|row| times(on_leaf(row).saturating_sub(row.leader), row.worker))
                        .min()
                        .unwrap_or(0);
                }
            }
        }
        for (row, count) in rows.iter().zip(short).filter(|(_, count)| *count > 0) {
            *exclusions.resources.entry(row.resource).or_default() += count;
        }
    }

    /// Fills in the counts of a domain from its children; on leaves only the number of slices.
    /// `layered` is whether inner slice layers count.
    pub(super) fn fill_in_domain_counts(&mut self, domain: Domain, level: usize, layered: bool) {
        let at_slices = level == self.topology_request.slice_level;
        let slice_size = self.topology_request.slice_size;
        let children = self.tree.children(domain);
        if children.is_empty() {
            let state = self.state_mut(domain);
            if at_slices {
                state.slices = state.pods / slice_size;
                state.slices_with_leader = state.pods_with_leader / slice_size;
            }
            return;
        }
        // Below an inner layer pods count in multiples of its size.
        let step = self
            .topology_request
            .inner_size(level + 1)
            .filter(|_| layered)
            .unwrap_or(1);
        let mut sum = DomainState::default();
        // The minimum cost of the leader, over the children that fit it.
        let (mut cost_in_pods, mut cost_in_slices) = (i32::MAX, i32::MAX);
        let mut takes_leader = false;
        for child in children {
            let c = self.state(child);
            let pods = c.pods / step * step;
            let with_leader = c.pods_with_leader / step * step;
            sum.pods = sum.pods.saturating_add(pods);
            sum.slices = sum.slices.saturating_add(c.slices);
            sum.leaders = sum.leaders.max(c.leaders);
            sum.affinity = sum.affinity.saturating_add(c.affinity);
            if self.topology_request.leaders == 0 || c.leaders > 0 {
                takes_leader = true;
                cost_in_pods = cost_in_pods.min(pods - with_leader);
                cost_in_slices = cost_in_slices.min(c.slices - c.slices_with_leader);
            }
        }
        if takes_leader {
            sum.pods_with_leader = sum.pods - cost_in_pods;
            sum.slices_with_leader = sum.slices - cost_in_slices;
        }
        if at_slices {
            sum.slices = sum.pods / slice_size;
            sum.slices_with_leader = sum.pods_with_leader / slice_size;
        }
        *self.state_mut(domain) = sum;
    }

    /// Fills in the counts of a domain and its descendants.
    pub(super) fn fill_in_subtree_counts(&mut self, domain: Domain, level: usize, layered: bool) {
        for child in self.tree.children(domain) {
            self.fill_in_subtree_counts(child, level + 1, layered);
        }
        self.fill_in_domain_counts(domain, level, layered);
    }
}

/// The requested resources by name, so that the first of equally limiting ones is reported.
fn rows<'a>(limits: &PodRequirements<'a>) -> Vec<RequestedResource<'a>> {
    let leader = limits.leader;
    let mut names: Vec<ResourceName> = limits.worker.iter().map(|(name, _)| name).collect();
    let extra = leader.into_iter().flat_map(Requests::iter);
    names.extend(
        extra
            .map(|(name, _)| name)
            .filter(|n| !limits.worker.contains(*n)),
    );
    let worker_resources = limits.worker.len();
    names[..worker_resources].sort_unstable_by_key(ResourceName::as_str);
    names
        .into_iter()
        .map(|resource| {
            let worker = limits.worker.get(resource);
            RequestedResource {
                resource,
                worker,
                leader: leader.map_or(0, |l| l.get(resource)),
                remaining: limits.capacity.column(resource, limits.simulate_empty),
                last: (0, times(0, worker)),
            }
        })
        .collect()
}

/// The number of workers that fit on a leaf, and the row that limits them. Rows after those of the
/// worker never limit.
fn workers(
    rows: &mut [RequestedResource<'_>],
    leaf: Leaf,
    assumed_usage: Option<&Requests>,
) -> (i32, usize) {
    let (mut least, mut limiting) = (i32::MAX, 0);
    for (i, row) in rows.iter_mut().enumerate() {
        let mut remaining = row.remaining(leaf);
        if let Some(assumed_usage) = assumed_usage {
            remaining = remaining.saturating_sub(assumed_usage.get(row.resource));
        }
        let fitting = row.fitting(remaining);
        if fitting < least {
            (least, limiting) = (fitting, i);
        }
    }
    (least, limiting)
}
