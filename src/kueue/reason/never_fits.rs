//! Decides from the reasons of an evaluation whether a pod set can ever fit, and what it lacks.

use std::collections::BTreeMap;

use crate::resources::{Amount, FlavorName, ResourceName};
use crate::{FlavorReason, MissingQuota, PermanentReason, Shortage, TasFailure};

/// A pod set, as far as it decides whether it can ever fit.
#[derive(Clone, Copy, Debug)]
pub struct EvaluatedPodSet<'a> {
    /// Its ClusterQueue.
    pub cluster_queue: &'a str,
    /// The total request of each resource.
    pub requests: &'a [(ResourceName, Amount)],
    /// The number of pods.
    pub count: i32,
    /// The number of pods below which it is not admitted.
    pub least: i32,
    /// The reasons of its flavors.
    pub reasons: &'a [&'a FlavorReason],
    /// The flavor in which there is no topology assignment with all nodes free, and why.
    pub topology_failure: Option<(&'a FlavorName, &'a TasFailure)>,
    /// Whether resources without quota are ignored.
    pub ignores_undeclared_resources: bool,
}

impl EvaluatedPodSet<'_> {
    /// The reasons that the pod set can never fit, if it cannot: a resource without quota, or a
    /// resource group with no flavor that it could be assigned without any usage of quota and
    /// nodes. `flavors_of` are the flavors of the group that covers a resource.
    pub fn permanent_reasons<'f>(
        &self,
        flavors_of: impl Fn(ResourceName) -> Option<&'f [FlavorName]>,
    ) -> Option<Vec<PermanentReason>> {
        for &(resource, requested) in self.requests.iter().filter(|(_, a)| a.is_positive()) {
            let Some(flavors) = flavors_of(resource) else {
                if self.ignores_undeclared_resources {
                    continue;
                }
                return Some(vec![PermanentReason::NoQuota {
                    cluster_queue: self.cluster_queue.to_owned(),
                    resource,
                    requested,
                }]);
            };
            let reasons = flavors.iter().map(|flavor| self.permanent_reason(flavor));
            // None of the flavors is possible.
            let reasons: Option<Vec<PermanentReason>> = reasons.collect();
            if let Some(reasons) = reasons.filter(|reasons| !reasons.is_empty()) {
                return Some(reasons);
            }
        }
        None
    }

    /// The reason that a flavor can never be assigned.
    fn permanent_reason(&self, flavor: &FlavorName) -> Option<PermanentReason> {
        let reasons = || {
            let reasons = self.reasons.iter().copied();
            reasons.filter(|reason| reason.flavor() == Some(flavor))
        };
        if let Some(reason) = reasons().find(|reason| reason.is_mismatch()) {
            let reason = reason.clone();
            return Some(PermanentReason::Mismatch { reason });
        }
        let exceeds = reasons().find_map(|reason| self.exceeds_capacity(reason));
        exceeds.or_else(|| {
            // With fewer pods there may be one.
            let (_, failure) = self
                .topology_failure
                .filter(|(of, _)| *of == flavor && self.least >= self.count)?;
            Some(PermanentReason::NoTopologyAssignment {
                flavor: flavor.clone(),
                failure: failure.clone(),
            })
        })
    }

    fn exceeds_capacity(&self, reason: &FlavorReason) -> Option<PermanentReason> {
        let FlavorReason::InsufficientQuota {
            flavor,
            resource,
            taken_before,
            requested,
            capacity,
        } = reason
        else {
            return None;
        };
        let least = match self.least >= self.count || self.count <= 0 {
            true => Amount::new(*requested).plus(*taken_before),
            false => {
                let least = requested / i64::from(self.count) * i64::from(self.least);
                taken_before.plus(least.into())
            }
        };
        (least > *capacity).then(|| PermanentReason::ExceedsCapacity {
            flavor: flavor.clone(),
            resource: *resource,
            requested: least,
            capacity: *capacity,
        })
    }

    /// The smallest shortage of the flavors that are possible: the missing amounts in the flavor that
    /// lacks the fewest resources, and the least of them; otherwise all reasons.
    pub fn shortage(&self) -> Option<Shortage> {
        let mut by_flavor: BTreeMap<&FlavorName, Option<Vec<MissingQuota>>> = BTreeMap::new();
        for reason in self.reasons {
            let Some(of) = reason.flavor() else { continue };
            let missing = by_flavor.entry(of).or_insert_with(|| Some(Vec::new()));
            if let FlavorReason::InsufficientUnusedQuota {
                flavor,
                resource,
                missing: amount,
            } = reason
            {
                missing.iter_mut().for_each(|missing| {
                    missing.push(MissingQuota {
                        flavor: flavor.clone(),
                        resource: *resource,
                        missing: *amount,
                    });
                });
            } else if reason.is_mismatch()
                || matches!(reason, FlavorReason::InsufficientQuota { .. })
            {
                *missing = None;
            }
        }
        let possible = by_flavor.into_values().flatten();
        let short = possible
            .filter(|missing| !missing.is_empty())
            .map(|mut missing| {
                missing.sort_by_key(|missing| missing.resource.as_str());
                missing
            })
            .min_by_key(|missing| {
                let names: Vec<&str> = missing.iter().map(|m| m.resource.as_str()).collect();
                let amounts: Vec<Amount> = missing.iter().map(|m| m.missing).collect();
                (missing.len(), names, amounts)
            });
        if let Some(missing) = short {
            return Some(Shortage::Quota {
                missing,
                pods: None,
            });
        }
        let reasons: Vec<FlavorReason> = self.reasons.iter().copied().cloned().collect();
        (!reasons.is_empty()).then_some(Shortage::Reasons { reasons })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UntoleratedTaint;

    fn unused(flavor: &str, resource: &str, missing: i64) -> FlavorReason {
        FlavorReason::InsufficientUnusedQuota {
            flavor: flavor.into(),
            resource: resource.into(),
            missing: missing.into(),
        }
    }

    fn too_big(flavor: &str, requested: i64, capacity: i64) -> FlavorReason {
        FlavorReason::InsufficientQuota {
            flavor: flavor.into(),
            resource: "cpu".into(),
            taken_before: Amount::ZERO,
            requested,
            capacity: capacity.into(),
        }
    }

    fn taint(flavor: &str) -> FlavorReason {
        FlavorReason::UntoleratedTaint {
            flavor: flavor.into(),
            taint: UntoleratedTaint::default(),
        }
    }

    /// The permanent reasons with flavors `a` and `b` of cpu, and their number.
    fn permanent(reasons: &[&FlavorReason], least: i32) -> Option<usize> {
        let flavors: [FlavorName; 2] = ["a".into(), "b".into()];
        let evaluated = EvaluatedPodSet {
            cluster_queue: "cq",
            requests: &[("cpu".into(), Amount::new(4_000))],
            count: 4,
            least,
            reasons,
            topology_failure: None,
            ignores_undeclared_resources: false,
        };
        let reasons = evaluated.permanent_reasons(|resource| {
            let covered = resource == ResourceName::cpu();
            covered.then_some(flavors.as_slice())
        });
        reasons.map(|reasons| reasons.len())
    }

    #[test]
    fn it_never_fits_if_no_flavor_is_possible() {
        let (taint, too_big) = (taint("a"), too_big("b", 4_000, 3_000));
        assert_eq!(permanent(&[&taint, &too_big], 4), Some(2));
        // Another flavor may have quota later.
        assert_eq!(permanent(&[&taint, &unused("b", "cpu", 1)], 4), None);
        assert_eq!(permanent(&[&taint], 4), None);
        // Three pods fit.
        assert_eq!(permanent(&[&taint, &too_big], 3), None);
    }

    #[test]
    fn the_smallest_shortage_is_that_of_a_possible_flavor() {
        let reasons = [
            unused("a", "memory", 1),
            unused("a", "cpu", 2),
            unused("aa", "cpu", 10),
            unused("b", "cpu", 9),
            unused("c", "cpu", 1),
            taint("c"),
        ];
        let reasons: Vec<&FlavorReason> = reasons.iter().collect();
        let evaluated = EvaluatedPodSet {
            cluster_queue: "cq",
            requests: &[],
            count: 1,
            least: 1,
            reasons: &reasons,
            topology_failure: None,
            ignores_undeclared_resources: false,
        };
        let missing = vec![MissingQuota {
            flavor: "b".into(),
            resource: "cpu".into(),
            missing: 9.into(),
        }];
        assert_eq!(
            evaluated.shortage(),
            Some(Shortage::Quota {
                missing,
                pods: None
            })
        );
    }
}
