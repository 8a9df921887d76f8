//! The order of domains, and the best-fit domain.
//!
//! Domains of one level only: ties are broken by name, which is the order of domain numbers.

use std::cmp::Ordering;

use super::placement::{DomainState, Placement};
use super::topology_tree::Domain;

/// Whether slices or pods are placed, which determines the capacity that a leader consumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountUnit {
    Slices,
    Pods,
}

impl CountUnit {
    pub(super) fn of(self, state: &DomainState) -> i32 {
        match self {
            CountUnit::Slices => state.slices,
            CountUnit::Pods => state.pods,
        }
    }

    pub(super) fn with_leader(self, state: &DomainState) -> i32 {
        match self {
            CountUnit::Slices => state.slices_with_leader,
            CountUnit::Pods => state.pods_with_leader,
        }
    }
}

impl Placement<'_> {
    fn by_affinity(&self, a: &DomainState, b: &DomainState) -> Ordering {
        if self.gates.affinity_preferred {
            b.affinity.cmp(&a.affinity)
        } else {
            Ordering::Equal
        }
    }

    fn by_slices(&self, a: i32, b: i32) -> Ordering {
        if self.use_least_free_capacity_algorithm() {
            a.cmp(&b)
        } else {
            b.cmp(&a)
        }
    }

    /// The order for workers: highest affinity, most slices (or fewest, see
    /// [`Placement::use_least_free_capacity_algorithm`]), fewest remaining pods.
    pub(super) fn compare(&self, a: Domain, b: Domain) -> Ordering {
        let (x, y) = (self.state(a), self.state(b));
        self.by_affinity(x, y)
            .then_with(|| self.by_slices(x.slices, y.slices))
            .then_with(|| x.pods.cmp(&y.pods))
            .then_with(|| a.cmp(&b))
    }

    /// The order for workers with a leader: domains that fit the leader first.
    pub(super) fn compare_with_leader(&self, a: Domain, b: Domain) -> Ordering {
        let (x, y) = (self.state(a), self.state(b));
        y.leaders
            .cmp(&x.leaders)
            .then_with(|| self.by_affinity(x, y))
            .then_with(|| self.by_slices(x.slices_with_leader, y.slices_with_leader))
            .then_with(|| x.pods_with_leader.cmp(&y.pods_with_leader))
            .then_with(|| a.cmp(&b))
    }

    /// Domains in the order of [`Placement::compare`].
    pub(super) fn sorted_domains(&self, domains: impl IntoIterator<Item = Domain>) -> Vec<Domain> {
        let mut sorted: Vec<Domain> = domains.into_iter().collect();
        sorted.sort_unstable_by(|&a, &b| self.compare(a, b));
        sorted
    }

    /// Domains in the order of [`Placement::compare_with_leader`].
    pub(super) fn sorted_domains_with_leader(
        &self,
        domains: impl IntoIterator<Item = Domain>,
    ) -> Vec<Domain> {
        let mut sorted: Vec<Domain> = domains.into_iter().collect();
        sorted.sort_unstable_by(|&a, &b| self.compare_with_leader(a, b));
        sorted
    }

    /// The best fit: the first sorted domain with the least sufficient capacity, among those with
    /// the highest affinity; the first domain when none is sufficient.
    pub(super) fn find_best_fit_domain(
        &self,
        sorted: &[Domain],
        needed: i32,
        leaders: i32,
        unit: CountUnit,
    ) -> Domain {
        let mut best: Option<(i32, Domain)> = None;
        for &domain in self.top_affinity_tier_domains(sorted) {
            let state = self.state(domain);
            if state.leaders < leaders {
                continue;
            }
            let capacity = if leaders > 0 {
                unit.with_leader(state)
            } else {
                unit.of(state)
            };
            // A capacity of the maximum integer counts as not found, as upstream does.
            if capacity >= needed && capacity < best.map_or(i32::MAX, |(r, _)| r) {
                best = Some((capacity, domain));
            }
        }
        best.map_or(sorted[0], |(_, domain)| domain)
    }

    /// The sorted domains with the highest affinity.
    fn top_affinity_tier_domains<'d>(&self, sorted: &'d [Domain]) -> &'d [Domain] {
        let Some(&first) = sorted.first().filter(|_| self.gates.affinity_preferred) else {
            return sorted;
        };
        let top = self.state(first).affinity;
        let end = sorted
            .iter()
            .position(|&d| self.state(d).affinity != top)
            .unwrap_or(sorted.len());
        &sorted[..end]
    }

    /// Moves to the front the first domain that fits the leader and leaves enough capacity for the
    /// workers.
    ///
    /// The counts of the parent assume that the leader is in the domain where it costs least, so
    /// such a child exists.
    pub(super) fn prioritize_leader_domain(
        &self,
        domains: &mut [Domain],
        count: i32,
        leaders: i32,
        slice_size: i32,
        unit: CountUnit,
    ) {
        if leaders == 0 || domains.len() < 2 {
            return;
        }
        let needed = match unit {
            CountUnit::Slices => count / slice_size,
            CountUnit::Pods => count,
        };
        let capacity = domains
            .iter()
            .fold(0i32, |sum, &d| sum.saturating_add(unit.of(self.state(d))));
        let fits = |&d: &Domain| {
            let state = self.state(d);
            let cost = unit.of(state) - unit.with_leader(state);
            state.leaders >= leaders && capacity.saturating_sub(cost) >= needed
        };
        if let Some(found) = domains.iter().position(fits) {
            domains[..=found].rotate_right(1);
        }
    }
}
