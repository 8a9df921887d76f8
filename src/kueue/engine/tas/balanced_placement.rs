//! Balanced placement: spreads a pod set evenly over domains, if that needs no more domains than
//! packing.
//!
//! Used for preferred topology requests with the feature gate TASBalancedPlacement; without a
//! result the normal algorithm continues.

use super::find_level_with_fit_domains::FitDomains;
use super::placement::{DomainState, Placement};
use super::topology_tree::Domain;

/// The result of packing: the number of domains and the last ones used.
#[derive(Clone, Copy, Debug, PartialEq)]
struct GreedyAssignment {
    domains: i32,
    last_with_leader: Option<Domain>,
    last: Option<Domain>,
}

/// Sibling domains of the requested level that fit the pods evenly, each with at least
/// `balance_threshold_value` slices. Domains that are too small have zero counts.
#[derive(Clone, Debug)]
pub(super) struct BalancedCandidates {
    pub(super) domains: Vec<Domain>,
    pub(super) threshold: i32,
    on_requested_level: i32,
}

impl Placement<'_> {
    /// Tries balanced placement. On success the counts of the selected domains are their shares,
    /// down to the slice level; otherwise the counts are unchanged.
    pub(super) fn find_balanced_placement(&mut self) -> Option<FitDomains> {
        let original = self.states.clone();
        let placement = self
            .find_best_domains_for_balanced_placement()
            .and_then(|candidates| self.apply_balanced_placement(&candidates));
        if placement.is_none() {
            self.states = original;
        }
        placement
    }

    fn apply_balanced_placement(&mut self, candidates: &BalancedCandidates) -> Option<FitDomains> {
        let resolved = self.topology_request;
        let (mut domains, mut level) = (candidates.domains.clone(), resolved.requested_level);
        if level < resolved.slice_level {
            let chosen = self.select_optimal_domain_set_to_fit(
                &domains,
                resolved.slices(),
                resolved.leaders,
                true,
            )?;
            domains = self.children_of(&chosen);
            level += 1;
        }
        let domains = self.place_slices_on_domains_balanced(
            &domains,
            resolved.slices(),
            resolved.leaders,
            candidates.threshold,
        )?;
        Some(FitDomains { level, domains })
    }

    /// Selects, among the children of each domain above the requested level, those with the highest
    /// balance threshold, and the fewest among equals.
    ///
    /// Works in place: the counts of the selected siblings are left pruned.
    pub(super) fn find_best_domains_for_balanced_placement(
        &mut self,
    ) -> Option<BalancedCandidates> {
        let resolved = self.topology_request;
        let level = resolved.requested_level;
        let sibling_groups: Vec<Vec<Domain>> = match level.checked_sub(1) {
            None => vec![self.tree.at_level(0).collect()],
            Some(above) => {
                let parents = self.tree.at_level(above);
                parents.map(|p| self.tree.children(p).collect()).collect()
            }
        };
        let mut best: Option<BalancedCandidates> = None;
        for siblings in sibling_groups {
            let least = best.as_ref().map_or(0, |b| b.threshold);
            if let Some(found) = self.balance_siblings(siblings, least) {
                let better = best.as_ref().is_none_or(|b| {
                    found.threshold > b.threshold
                        || (found.threshold == b.threshold
                            && found.on_requested_level < b.on_requested_level)
                });
                if better && found.threshold > 0 {
                    best = Some(found);
                }
            }
        }
        best
    }

    fn balance_siblings(
        &mut self,
        siblings: Vec<Domain>,
        least: i32,
    ) -> Option<BalancedCandidates> {
        let resolved = self.topology_request;
        let requested = resolved.slices();
        let lower = if resolved.requested_level < resolved.slice_level {
            self.children_of(&siblings)
        } else {
            siblings.clone()
        };
        let greedy = self.evaluate_greedy_assignment(&lower, requested, resolved.leaders)?;
        let mut threshold = self.balance_threshold_value(requested, &greedy)?;
        let mut reserved = threshold;
        if let Some(last) = greedy.last.filter(|_| resolved.leaders > 0) {
            reserved = reserved.min(self.state(last).slices_with_leader);
        }
        if threshold < least {
            return None;
        }
        let before = self.save(&siblings);
        self.prune_domains_below_threshold(&siblings, threshold);
        let mut fit = self.evaluate_greedy_assignment(&siblings, requested, resolved.leaders);
        if fit.is_none() && reserved < threshold {
            // Again, with capacity for the leader.
            if reserved <= 0 || reserved < least {
                return None;
            }
            threshold = reserved;
            self.restore(&before);
            self.prune_domains_below_threshold(&siblings, threshold);
            fit = self.evaluate_greedy_assignment(&siblings, requested, resolved.leaders);
        }
        fit.map(|fit| BalancedCandidates {
            domains: siblings,
            threshold,
            on_requested_level: fit.domains,
        })
    }

    /// Evaluates packing of slices and leaders; none when they do not fit.
    fn evaluate_greedy_assignment(
        &self,
        domains: &[Domain],
        slices: i32,
        leaders: i32,
    ) -> Option<GreedyAssignment> {
        let mut greedy = GreedyAssignment {
            domains: 0,
            last_with_leader: None,
            last: None,
        };
        let (mut slices, mut leaders) = (slices, leaders);
        let mut rest = domains.to_vec();
        if leaders > 0 {
            let sorted = self.sorted_domains_with_leader(rest);
            let mut used = 0;
            while leaders > 0 && used < sorted.len() && self.state(sorted[used]).leaders > 0 {
                let state = self.state(sorted[used]);
                greedy.domains += 1;
                greedy.last_with_leader = Some(sorted[used]);
                leaders -= state.leaders;
                slices -= state.slices_with_leader;
                used += 1;
            }
            rest = sorted[used..].to_vec();
        }
        if leaders > 0 {
            return None;
        }
        for domain in self.sorted_domains(rest) {
            let capacity = self.state(domain).slices;
            if slices <= 0 || capacity <= 0 {
                break;
            }
            greedy.domains += 1;
            greedy.last = Some(domain);
            slices -= capacity;
        }
        (slices <= 0).then_some(greedy)
    }

    /// The maximum number of slices that every domain of a packing could have when spread evenly.
    fn balance_threshold_value(&self, slices: i32, greedy: &GreedyAssignment) -> Option<i32> {
        let mut threshold = slices.checked_div(greedy.domains)?;
        if let Some(domain) = greedy.last_with_leader {
            threshold = threshold.min(self.state(domain).slices_with_leader);
        }
        if let Some(domain) = greedy.last {
            threshold = threshold.min(self.state(domain).slices);
        }
        Some(threshold)
    }

    /// Prunes domains of the requested level, and their children, that fit less than
    /// `balance_threshold_value` slices.
    pub(super) fn prune_domains_below_threshold(&mut self, domains: &[Domain], threshold: i32) {
        for child in self.children_of(domains) {
            self.prune_domain_below_threshold(child, threshold);
        }
        for &domain in domains {
            // Inner slice layers are ignored here, as upstream does.
            self.fill_in_subtree_counts(domain, self.topology_request.requested_level, false);
            self.prune_domain_below_threshold(domain, threshold);
        }
    }

    fn prune_domain_below_threshold(&mut self, domain: Domain, threshold: i32) {
        let state = *self.state(domain);
        if state.slices < threshold {
            self.for_subtree(domain, &mut |s| {
                *s = DomainState {
                    affinity: s.affinity,
                    ..Default::default()
                };
            });
        } else if self.topology_request.leaders > 0
            && state.leaders > 0
            && state.slices_with_leader < threshold
        {
            // It still fits workers.
            self.for_subtree(domain, &mut |s| {
                (s.leaders, s.pods_with_leader, s.slices_with_leader) = (0, 0, 0);
            });
        }
    }

    fn for_subtree(&mut self, domain: Domain, change: &mut impl FnMut(&mut DomainState)) {
        change(self.state_mut(domain));
        for child in self.tree.children(domain) {
            self.for_subtree(child, change);
        }
    }

    fn save(&self, domains: &[Domain]) -> Vec<(Domain, DomainState)> {
        let mut saved = Vec::new();
        let mut at = domains.to_vec();
        while !at.is_empty() {
            saved.extend(at.iter().map(|&d| (d, *self.state(d))));
            at = self.children_of(&at);
        }
        saved
    }

    fn restore(&mut self, saved: &[(Domain, DomainState)]) {
        for &(domain, state) in saved {
            *self.state_mut(domain) = state;
        }
    }

    /// Assigns `balance_threshold_value` slices to each domain of the smallest sufficient set, and
    /// the remainder to the first ones; none when that fails.
    pub(super) fn place_slices_on_domains_balanced(
        &mut self,
        domains: &[Domain],
        slices: i32,
        leaders: i32,
        threshold: i32,
    ) -> Option<Vec<Domain>> {
        let chosen = self.select_optimal_domain_set_to_fit(domains, slices, leaders, false)?;
        let evenly = i32::try_from(chosen.len()).ok()?.checked_mul(threshold)?;
        if slices < evenly {
            return None;
        }
        let slice_size = self.topology_request.slice_size;
        let chosen = self.sorted_domains_with_leader(chosen);
        let (mut extra, mut leaders) = (slices - evenly, leaders);
        for &domain in &chosen {
            let state = self.state_mut(domain);
            let more = if leaders > 0 {
                state.leaders = 1;
                leaders -= 1;
                extra.min(state.slices_with_leader - threshold)
            } else {
                state.leaders = 0;
                if extra > 0 {
                    extra.min(state.slices - threshold)
                } else {
                    0
                }
            };
            state.slices = threshold + more;
            state.slices_with_leader = state.slices;
            state.pods = state.slices.saturating_mul(slice_size);
            state.pods_with_leader = state.pods - state.leaders;
            extra -= more;
        }
        (extra <= 0 && leaders <= 0).then_some(chosen)
    }

    /// The smallest set of domains that fits slices and leaders, with the least free capacity:
    /// dynamic programming over what remains to be placed.
    pub(super) fn select_optimal_domain_set_to_fit(
        &self,
        domains: &[Domain],
        slices: i32,
        leaders: i32,
        by_entropy: bool,
    ) -> Option<Vec<Domain>> {
        let size = self
            .evaluate_greedy_assignment(domains, slices, leaders)?
            .domains;
        let mut ordered = domains.to_vec();
        if by_entropy {
            self.sort_by_entropy(&mut ordered);
        } else {
            ordered.sort_unstable();
        }
        let pods = slices.saturating_mul(self.topology_request.slice_size);
        super::optimal_domain_set::select_optimal_domain_set(
            &ordered,
            &self.states,
            usize::try_from(size).ok()?,
            leaders,
            pods,
        )
    }

    /// Sorts by free capacity, descending, and by entropy of the children's capacity among equals.
    fn sort_by_entropy(&self, domains: &mut [Domain]) {
        domains.sort_by_cached_key(|&d| {
            let state = self.state(d);
            let entropy = self.entropy(d);
            (
                -i64::from(state.leaders),
                -i64::from(state.slices_with_leader),
                // Non-negative floats are ordered like their bits.
                std::cmp::Reverse(entropy.to_bits()),
                d,
            )
        });
    }

    /// The entropy of the children's free capacity; never negative, nor negative zero.
    fn entropy(&self, domain: Domain) -> f64 {
        let mut capacities: Vec<i32> = self
            .tree
            .children(domain)
            .map(|c| self.state(c).pods)
            .filter(|&pods| pods > 0)
            .collect();
        // A fixed order gives equal capacities equal sums.
        capacities.sort_unstable();
        let total: f64 = capacities.iter().map(|&r| f64::from(r)).sum();
        let each = capacities.iter().map(|&r| {
            let part = f64::from(r) / total;
            -part * part.log2()
        });
        let entropy: f64 = each.sum();
        if entropy > 0.0 { entropy } else { 0.0 }
    }
}
