//! Phase 2a: the level, and the domains on it that together fit all pods.

use super::domain_ordering::CountUnit;
use super::placement::Placement;
use super::topology_tree::Domain;
use kueue_lab_reason::{LayerFit, NoFit, TasExclusionStats, TasFailure, TasFit};

/// The selected domains of one level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FitDomains {
    pub(super) level: usize,
    pub(super) domains: Vec<Domain>,
}

impl Placement<'_> {
    /// Selects domains at `level`. For a preferred level where no single domain fits, goes up until
    /// one does; at the top level, or unconstrained, uses several domains.
    pub(super) fn find_level_with_fit_domains(
        &self,
        topology: &str,
        level: usize,
        exclusions: &TasExclusionStats,
    ) -> Result<FitDomains, TasFailure> {
        let mut level = level;
        loop {
            let range = self.tree.at_level(level);
            if range.is_empty() {
                let name = self.tree.levels().get(level);
                return Err(TasFailure::NoDomains {
                    level: name.cloned().unwrap_or_default(),
                });
            }
            let sorted = self.sorted_domains_with_leader(range);
            if let Some(domain) = self.find_single_domain(&sorted) {
                return Ok(FitDomains {
                    level,
                    domains: vec![domain],
                });
            }
            if self.topology_request.required {
                let fitting = if self.use_least_free_capacity_algorithm() {
                    self.state(sorted[sorted.len() - 1]).pods
                } else {
                    self.state(sorted[0]).slices
                };
                return Err(self.no_fit(topology, level, fitting, exclusions));
            }
            if level > 0 && !self.topology_request.unconstrained {
                level -= 1;
                continue;
            }
            return self
                .find_several_domains(sorted)
                .map(|domains| FitDomains { level, domains })
                .map_err(|fitting| self.no_fit(topology, level, fitting, exclusions));
        }
    }

    /// Whether a domain fits everything.
    fn fits_all(&self, domain: Domain) -> bool {
        let state = self.state(domain);
        state.slices_with_leader >= self.topology_request.slices()
            && state.leaders >= self.topology_request.leaders
    }

    /// A single domain of a level that fits everything.
    fn find_single_domain(&self, sorted: &[Domain]) -> Option<Domain> {
        let (slices, leaders) = (
            self.topology_request.slices(),
            self.topology_request.leaders,
        );
        if self.use_least_free_capacity_algorithm() {
            let enough = |&d: &Domain| {
                let state = self.state(d);
                if leaders > 0 {
                    state.leaders >= leaders && state.slices_with_leader >= slices
                } else {
                    state.slices >= slices
                }
            };
            let found = sorted.iter().copied().find(enough);
            if found.is_some() || self.topology_request.required {
                return found;
            }
            return Some(sorted[0]).filter(|&d| self.fits_all(d));
        }
        if self.fits_all(sorted[0]) {
            return Some(self.find_best_fit_domain(sorted, slices, leaders, CountUnit::Slices));
        }
        if self.topology_request.required && self.gates.affinity_preferred {
            // The domain with the highest affinity is too small; another one may fit.
            let next = sorted.iter().position(|&d| self.fits_all(d))?;
            return Some(self.find_best_fit_domain(
                &sorted[next..],
                slices,
                leaders,
                CountUnit::Slices,
            ));
        }
        None
    }

    /// Domains of a level that together fit everything: leaders first, in a domain that leaves
    /// enough capacity for the workers, then the remaining workers. The error is how much fits.
    fn find_several_domains(&self, mut sorted: Vec<Domain>) -> Result<Vec<Domain>, i32> {
        let resolved = self.topology_request;
        let requested = resolved.slices();
        let best_fit = !self.use_least_free_capacity_algorithm();
        let (mut slices, mut leaders) = (requested, resolved.leaders);
        let mut selected = Vec::new();
        self.prioritize_leader_domain(
            &mut sorted,
            resolved.count,
            resolved.leaders,
            resolved.slice_size,
            CountUnit::Slices,
        );
        let mut used = 0;
        while leaders > 0 && used < sorted.len() && self.state(sorted[used]).leaders > 0 {
            let mut domain = sorted[used];
            if best_fit && self.state(domain).slices_with_leader >= slices {
                domain =
                    self.find_best_fit_domain(&sorted[used..], slices, leaders, CountUnit::Slices);
            }
            selected.push(domain);
            leaders -= self.state(domain).leaders;
            slices -= self.state(domain).slices_with_leader;
            used += 1;
        }
        if leaders > 0 {
            return Err(resolved.leaders - leaders);
        }
        let rest = self.sorted_domains(sorted.drain(used..));
        for (i, &next) in rest.iter().enumerate() {
            if slices <= 0 {
                break;
            }
            let mut domain = next;
            if best_fit && self.state(domain).slices >= slices {
                domain = self.find_best_fit_domain(&rest[i..], slices, 0, CountUnit::Slices);
            }
            selected.push(domain);
            slices -= self.state(domain).slices;
        }
        if slices > 0 {
            return Err(requested - slices);
        }
        Ok(selected)
    }

    fn no_fit(
        &self,
        topology: &str,
        level: usize,
        fitting: i32,
        exclusions: &TasExclusionStats,
    ) -> TasFailure {
        let wanted = self.topology_request.slices();
        let fit = match self.topology_request.slice_size {
            _ if !self.topology_request.layers.is_empty() => TasFit::Layers(self.layer_fits(level)),
            1 => TasFit::Pods { fitting, wanted },
            _ => TasFit::Slices { fitting, wanted },
        };
        let exclusions = Some(exclusions).filter(|exclusions| !exclusions.is_empty());
        TasFailure::NoFit(Box::new(NoFit {
            topology: topology.to_owned(),
            fit,
            exclusions: exclusions.cloned().unwrap_or_default(),
        }))
    }

    /// The number of slices of each layer that fit in the domain of a level with the most capacity.
    fn layer_fits(&self, level: usize) -> Vec<LayerFit> {
        // The first by name among equals.
        let largest = self
            .tree
            .at_level(level)
            .max_by_key(|&d| (self.state(d).slices, std::cmp::Reverse(d)));
        let Some(largest) = largest else {
            return Vec::new();
        };
        self.topology_request
            .layers
            .iter()
            .filter_map(|layer| {
                let target = self.tree.level_index(&layer.topology)?;
                Some(LayerFit {
                    level: layer.topology.clone(),
                    fitting: self.count_slices_in_subtree(largest, level, target, layer.size),
                    wanted: self.topology_request.count / layer.size,
                })
            })
            .collect()
    }

    fn count_slices_in_subtree(
        &self,
        domain: Domain,
        level: usize,
        target: usize,
        size: i32,
    ) -> i32 {
        if level == target {
            return self.state(domain).pods / size;
        }
        self.tree.children(domain).fold(0, |sum: i32, child| {
            sum.saturating_add(self.count_slices_in_subtree(child, level + 1, target, size))
        })
    }
}
