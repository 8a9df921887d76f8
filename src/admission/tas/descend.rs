//! The second phase, second half: from picked domains down to leaves, on each level with as few
//! domains as will do.

use super::fit::Picked;
use super::order::Unit;
use super::placement::Placement;
use super::tree::Domain;

/// What is to be spread over some domains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Pods.
    pub(super) pods: i32,
    /// Leaders among them.
    pub(super) leaders: i32,
    /// Pods in a slice, where slices are spread.
    pub(super) slice_size: i32,
    /// Whether slices or single pods are spread.
    pub(super) unit: Unit,
}

impl Placement<'_> {
    /// Goes down from picked domains. `balanced`: they already have their shares, which is not
    /// undone above the level of slices.
    pub(super) fn descend(&mut self, picked: Picked, balanced: bool) -> Vec<Domain> {
        let shape = self.shape;
        let whole = Share {
            pods: shape.count,
            leaders: shape.leaders,
            slice_size: shape.slice_size,
            unit: Unit::Slices,
        };
        let Picked {
            mut level,
            mut domains,
        } = picked;
        let lowest = self.tree.levels().len() - 1;
        domains = self.spread(domains, whole);
        // Above the level of slices it does not matter which parent a slice was counted in.
        while level < lowest.min(shape.slice_level) && !balanced {
            let children = self.children_of(&domains);
            let children = self.sorted(children);
            domains = self.spread(children, whole);
            level += 1;
        }
        while level < lowest {
            let slice_size = if level >= shape.slice_level {
                shape.inner_size(level + 1).unwrap_or(1)
            } else {
                shape.slice_size
            };
            domains = self.spread_within(&domains, slice_size);
            level += 1;
        }
        domains
    }

    /// Spreads what each domain has over its own children.
    fn spread_within(&mut self, parents: &[Domain], slice_size: i32) -> Vec<Domain> {
        let mut all = Vec::with_capacity(parents.len());
        for &parent in parents {
            let children = self.sorted(self.tree.children(parent));
            if slice_size > 1 {
                // So far children were counted in slices of the outermost layer, if at all.
                for &child in &children {
                    let state = self.state_mut(child);
                    state.slices = state.pods / slice_size;
                    state.slices_with_leader = state.pods_with_leader / slice_size;
                }
            }
            let share = Share {
                pods: self.state(parent).pods,
                leaders: self.state(parent).leaders,
                slice_size,
                unit: if slice_size > 1 {
                    Unit::Slices
                } else {
                    Unit::Pods
                },
            };
            all.extend(self.spread(children, share));
        }
        all
    }

    /// Spreads a share over sorted domains, the last of which is chosen to fit best. Gives the
    /// domains used, with their figures turned into what they got; none when the share does not
    /// fit, which the first phase rules out.
    pub(super) fn spread(&mut self, mut domains: Vec<Domain>, share: Share) -> Vec<Domain> {
        let Share {
            slice_size, unit, ..
        } = share;
        self.leader_first(&mut domains, share.pods, share.leaders, slice_size, unit);
        let mut rest = match unit {
            Unit::Slices => share.pods / slice_size,
            Unit::Pods => share.pods,
        };
        let pods_per_unit = match unit {
            Unit::Slices => slice_size,
            Unit::Pods => 1,
        };
        let mut leaders = share.leaders;
        let best_fit = !self.least_free_first();
        let mut used = Vec::new();
        for (i, &next) in domains.iter().enumerate() {
            let mut domain = next;
            if leaders > 0 {
                let takes_rest = |p: &Self, d: Domain| {
                    let state = p.state(d);
                    unit.with_leader(state) >= rest && state.leaders >= leaders
                };
                if best_fit && takes_rest(self, domain) {
                    domain = self.best_fit(&domains[i..], rest, leaders, unit);
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
                if unit == Unit::Slices {
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
                domain = self.best_fit(&domains[i..], rest, 0, unit);
            }
            let state = self.state_mut(domain);
            let got = unit.of(state).min(rest);
            let last = unit.of(state) >= rest;
            state.leaders = 0;
            state.pods = got.saturating_mul(pods_per_unit);
            if unit == Unit::Slices {
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
