//! The second phase, first half: the level and the domains on it that together take all pods.

use super::exclusions::Exclusions;
use super::failure::{LayerFit, NoFit, TasFailure};
use super::order::Unit;
use super::placement::Placement;
use super::tree::Domain;

/// Domains picked on one level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picked {
    pub(super) level: usize,
    pub(super) domains: Vec<Domain>,
}

impl Placement<'_> {
    /// Picks domains at `level`. Where pods would like to be in one domain but none is large
    /// enough, goes up until one is; on the top level, or where pods may be anywhere, spreads
    /// over several.
    pub(super) fn pick(
        &self,
        topology: &str,
        level: usize,
        exclusions: &Exclusions,
    ) -> Result<Picked, TasFailure> {
        let mut level = level;
        loop {
            let range = self.tree.at_level(level);
            if range.is_empty() {
                let name = self.tree.levels().get(level);
                return Err(TasFailure::NoDomains {
                    level: name.cloned().unwrap_or_default(),
                });
            }
            let sorted = self.sorted_with_leader(range);
            if let Some(domain) = self.single(&sorted) {
                return Ok(Picked {
                    level,
                    domains: vec![domain],
                });
            }
            if self.shape.required {
                let fitting = if self.least_free_first() {
                    self.state(sorted[sorted.len() - 1]).pods
                } else {
                    self.state(sorted[0]).slices
                };
                return Err(self.no_fit(topology, level, fitting, exclusions));
            }
            if level > 0 && !self.shape.unconstrained {
                level -= 1;
                continue;
            }
            return self
                .several(sorted)
                .map(|domains| Picked { level, domains })
                .map_err(|fitting| self.no_fit(topology, level, fitting, exclusions));
        }
    }

    /// Whether a domain takes everything.
    fn takes_all(&self, domain: Domain) -> bool {
        let state = self.state(domain);
        state.slices_with_leader >= self.shape.slices() && state.leaders >= self.shape.leaders
    }

    /// The one domain of a level that takes everything, if there is such.
    fn single(&self, sorted: &[Domain]) -> Option<Domain> {
        let (slices, leaders) = (self.shape.slices(), self.shape.leaders);
        if self.least_free_first() {
            let enough = |&d: &Domain| {
                let state = self.state(d);
                if leaders > 0 {
                    state.leaders >= leaders && state.slices_with_leader >= slices
                } else {
                    state.slices >= slices
                }
            };
            let found = sorted.iter().copied().find(enough);
            if found.is_some() || self.shape.required {
                return found;
            }
            return Some(sorted[0]).filter(|&d| self.takes_all(d));
        }
        if self.takes_all(sorted[0]) {
            return Some(self.best_fit(sorted, slices, leaders, Unit::Slices));
        }
        if self.shape.required && self.gates.affinity_preferred {
            // The most preferred domain is too small, a less preferred one may do.
            let next = sorted.iter().position(|&d| self.takes_all(d))?;
            return Some(self.best_fit(&sorted[next..], slices, leaders, Unit::Slices));
        }
        None
    }

    /// Domains of a level that take everything together: leaders first, in a domain that leaves
    /// enough room for the workers, then the remaining workers. Fails with how much fits.
    fn several(&self, mut sorted: Vec<Domain>) -> Result<Vec<Domain>, i32> {
        let shape = self.shape;
        let wanted = shape.slices();
        let best_fit = !self.least_free_first();
        let (mut slices, mut leaders) = (wanted, shape.leaders);
        let mut picked = Vec::new();
        self.leader_first(
            &mut sorted,
            shape.count,
            shape.leaders,
            shape.slice_size,
            Unit::Slices,
        );
        let mut used = 0;
        while leaders > 0 && used < sorted.len() && self.state(sorted[used]).leaders > 0 {
            let mut domain = sorted[used];
            if best_fit && self.state(domain).slices_with_leader >= slices {
                domain = self.best_fit(&sorted[used..], slices, leaders, Unit::Slices);
            }
            picked.push(domain);
            leaders -= self.state(domain).leaders;
            slices -= self.state(domain).slices_with_leader;
            used += 1;
        }
        if leaders > 0 {
            return Err(shape.leaders - leaders);
        }
        let rest = self.sorted(sorted.drain(used..));
        for (i, &next) in rest.iter().enumerate() {
            if slices <= 0 {
                break;
            }
            let mut domain = next;
            if best_fit && self.state(domain).slices >= slices {
                domain = self.best_fit(&rest[i..], slices, 0, Unit::Slices);
            }
            picked.push(domain);
            slices -= self.state(domain).slices;
        }
        if slices > 0 {
            return Err(wanted - slices);
        }
        Ok(picked)
    }

    fn no_fit(
        &self,
        topology: &str,
        level: usize,
        fitting: i32,
        exclusions: &Exclusions,
    ) -> TasFailure {
        let layers = (!self.shape.layers.is_empty()).then(|| self.layer_fits(level));
        TasFailure::NoFit(Box::new(NoFit {
            topology: topology.to_owned(),
            fitting,
            wanted: self.shape.slices(),
            slice_size: self.shape.slice_size,
            layers,
            exclusions: exclusions.clone(),
        }))
    }

    /// How many slices of each layer fit in the roomiest domain of a level.
    fn layer_fits(&self, level: usize) -> Vec<LayerFit> {
        // Of equally roomy ones the first by name.
        let roomiest = self
            .tree
            .at_level(level)
            .max_by_key(|&d| (self.state(d).slices, std::cmp::Reverse(d)));
        let Some(roomiest) = roomiest else {
            return Vec::new();
        };
        self.shape
            .layers
            .iter()
            .filter_map(|layer| {
                let target = self.tree.level_index(&layer.topology)?;
                Some(LayerFit {
                    level: layer.topology.clone(),
                    fitting: self.slices_below(roomiest, level, target, layer.size),
                    wanted: self.shape.count / layer.size,
                })
            })
            .collect()
    }

    fn slices_below(&self, domain: Domain, level: usize, target: usize, size: i32) -> i32 {
        if level == target {
            return self.state(domain).pods / size;
        }
        self.tree.children(domain).fold(0, |sum: i32, child| {
            sum.saturating_add(self.slices_below(child, level + 1, target, size))
        })
    }
}
