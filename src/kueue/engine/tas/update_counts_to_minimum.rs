//! Phase 2b: descends from the selected domains to the leaves, with the fewest domains on each
//! level.

use super::domain_ordering::CountUnit;
use super::find_level_with_fit_domains::FitDomains;
use super::placement::Placement;
use super::topology_tree::Domain;

/// The pods to assign to some domains.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodsToPlace {
    /// Pods.
    pub(super) pods: i32,
    /// The number of leaders among them.
    pub(super) leaders: i32,
    /// The slice size, if slices are assigned.
    pub(super) slice_size: i32,
    /// Whether slices or single pods are assigned.
    pub(super) unit: CountUnit,
}

impl Placement<'_> {
    /// Descends from the selected domains. `balanced`: their shares are fixed above the slice
    /// level.
    pub(super) fn assign_lower_levels(
        &mut self,
        fit_domains: FitDomains,
        balanced: bool,
    ) -> Vec<Domain> {
        let resolved = self.topology_request;
        let whole = PodsToPlace {
            pods: resolved.count,
            leaders: resolved.leaders,
            slice_size: resolved.slice_size,
            unit: CountUnit::Slices,
        };
        let FitDomains {
            mut level,
            mut domains,
        } = fit_domains;
        let lowest = self.tree.levels().len() - 1;
        domains = self.update_counts_to_minimum(domains, whole);
        // Above the slice level slices may move between parents.
        while level < lowest.min(resolved.slice_level) && !balanced {
            let children = self.children_of(&domains);
            let children = self.sorted_domains(children);
            domains = self.update_counts_to_minimum(children, whole);
            level += 1;
        }
        while level < lowest {
            let slice_size = if level >= resolved.slice_level {
                resolved.inner_size(level + 1).unwrap_or(1)
            } else {
                resolved.slice_size
            };
            domains = self.update_children_counts_to_minimum(&domains, slice_size);
            level += 1;
        }
        domains
    }

    /// Assigns the pods of each domain to its children.
    fn update_children_counts_to_minimum(
        &mut self,
        parents: &[Domain],
        slice_size: i32,
    ) -> Vec<Domain> {
        let mut all = Vec::with_capacity(parents.len());
        for &parent in parents {
            let children = self.sorted_domains(self.tree.children(parent));
            if slice_size > 1 {
                // The slice counts of the children are those of the outermost layer, or zero.
                for &child in &children {
                    let state = self.state_mut(child);
                    state.slices = state.pods / slice_size;
                    state.slices_with_leader = state.pods_with_leader / slice_size;
                }
            }
            let share = PodsToPlace {
                pods: self.state(parent).pods,
                leaders: self.state(parent).leaders,
                slice_size,
                unit: if slice_size > 1 {
                    CountUnit::Slices
                } else {
                    CountUnit::Pods
                },
            };
            all.extend(self.update_counts_to_minimum(children, share));
        }
        all
    }

    /// Assigns pods to sorted domains, the last one by best fit. Returns the domains used, with
    /// their counts; none when the pods do not fit, which phase 1 excludes.
    pub(super) fn update_counts_to_minimum(
        &mut self,
        mut domains: Vec<Domain>,
        share: PodsToPlace,
    ) -> Vec<Domain> {
        let PodsToPlace {
            slice_size, unit, ..
        } = share;
        self.prioritize_leader_domain(&mut domains, share.pods, share.leaders, slice_size, unit);
        let mut rest = match unit {
            CountUnit::Slices => share.pods / slice_size,
            CountUnit::Pods => share.pods,
        };
        let pods_per_unit = match unit {
            CountUnit::Slices => slice_size,
            CountUnit::Pods => 1,
        };
        let mut leaders = share.leaders;
        let best_fit = !self.use_least_free_capacity_algorithm();
        let mut used = Vec::new();
        for (i, &next) in domains.iter().enumerate() {
            let mut domain = next;
            if leaders > 0 {
                let takes_rest = |p: &Self, d: Domain| {
                    let state = p.state(d);
                    unit.with_leader(state) >= rest && state.leaders >= leaders
                };
                if best_fit && takes_rest(self, domain) {
                    domain = self.find_best_fit_domain(&domains[i..], rest, leaders, unit);
                }
                let last = takes_rest(self, domain);
                let state = self.state_mut(domain);
                let (got, got_leaders) = if last {
                    (rest, leaders)
                } else {
                    (
                        unit.with_leader(state).min(rest),
                        state.leaders.min(leaders),
                    )
                };
                state.leaders = got_leaders;
                state.pods = got.saturating_mul(pods_per_unit);
                if unit == CountUnit::Slices {
                    state.slices = got;
                    if !last {
                        state.slices_with_leader = got;
                    }
                } else if !last {
                    state.pods_with_leader = got;
                }
                used.push(domain);
                if last {
                    return used;
                }
                leaders -= got_leaders;
                rest -= got;
                continue;
            }
            if best_fit && unit.of(self.state(domain)) >= rest {
                domain = self.find_best_fit_domain(&domains[i..], rest, 0, unit);
            }
            let state = self.state_mut(domain);
            let got = unit.of(state).min(rest);
            let last = unit.of(state) >= rest;
            state.leaders = 0;
            state.pods = got.saturating_mul(pods_per_unit);
            if unit == CountUnit::Slices {
                state.slices = got;
            }
            used.push(domain);
            if last {
                return used;
            }
            rest -= got;
        }
        Vec::new()
    }
}
