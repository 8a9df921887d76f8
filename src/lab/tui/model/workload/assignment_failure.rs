//! Flavor assignment failures, parsed from the message of the QuotaReserved condition. Unknown
//! sentences are shown as they are.

use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use regex::Regex;

use crate::text::{Amount, amount_text, resource_label};

/// A reason why a flavor cannot be assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AssignmentFailure {
    /// Insufficient unused quota.
    InsufficientUnusedQuota {
        /// Name of the resource.
        resource: String,
        /// Name of the flavor.
        flavor: String,
        /// The missing amount.
        more: Amount,
    },
    /// The request exceeds the maximum capacity.
    InsufficientQuota {
        /// Name of the resource.
        resource: String,
        /// Name of the flavor.
        flavor: String,
        /// The requested amount.
        requested: Amount,
        /// The maximum capacity.
        maximum: Amount,
    },
    /// The ClusterQueue has no quota for a resource.
    ResourceUnavailable {
        /// Name of the resource.
        resource: String,
    },
    /// A taint of a flavor is not tolerated.
    UntoleratedTaint {
        /// Name of the flavor.
        flavor: String,
    },
    /// The flavor does not match the node affinity.
    NodeAffinityMismatch {
        /// Name of the flavor.
        flavor: String,
    },
}

impl AssignmentFailure {
    /// Whether it cannot be resolved by waiting.
    pub(crate) fn is_permanent(&self) -> bool {
        !matches!(self, AssignmentFailure::InsufficientUnusedQuota { .. })
    }

    /// A short text.
    pub(crate) fn text(&self) -> String {
        match self {
            AssignmentFailure::InsufficientUnusedQuota {
                resource,
                flavor,
                more,
            } => format!(
                "{} more {} in {flavor}",
                amount_text(resource, *more),
                resource_label(resource)
            ),
            AssignmentFailure::InsufficientQuota {
                resource,
                flavor,
                requested,
                maximum,
            } => format!(
                "{} {} > maximum {} in {flavor}",
                amount_text(resource, *requested),
                resource_label(resource),
                amount_text(resource, *maximum)
            ),
            AssignmentFailure::ResourceUnavailable { resource } => {
                format!("no quota for {resource}")
            }
            AssignmentFailure::UntoleratedTaint { flavor } => {
                format!("does not tolerate a taint of {flavor}")
            }
            AssignmentFailure::NodeAffinityMismatch { flavor } => {
                format!("selects other nodes than {flavor}'s")
            }
        }
    }
}

/// The known sentences.
struct MessagePatterns {
    unused: Regex,
    too_big: Regex,
    not_covered: Regex,
    taint: Regex,
    affinity: Regex,
}

static MESSAGE_PATTERNS: LazyLock<Option<MessagePatterns>> = LazyLock::new(|| {
    let re = |pattern: &str| Regex::new(pattern).ok();
    Some(MessagePatterns {
        unused: re(r"insufficient unused quota for (\S+) in flavor (\S+), ([^\s,;]+) more needed")?,
        too_big: re(
            r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \(([^)]+)\) \+ current podset request \(([^)]+)\) > maximum capacity \(([^)]+)\)",
        )?,
        not_covered: re(r"resource (\S+) unavailable in ClusterQueue")?,
        taint: re(r"untolerated taint .*? in flavor ([^\s,;]+)")?,
        affinity: re(r"flavor (\S+) doesn't match node affinity")?,
    })
});

/// The failures in a message, grouped by variant.
pub(crate) fn parse_assignment_failures(message: &str) -> Vec<AssignmentFailure> {
    let Some(s) = MESSAGE_PATTERNS.as_ref() else {
        return Vec::new();
    };
    let amount = |text: &str| Amount::of(&Quantity(text.to_owned()));
    let mut found = Vec::new();
    for (_, [resource, flavor, more]) in s.unused.captures_iter(message).map(|c| c.extract()) {
        found.push(AssignmentFailure::InsufficientUnusedQuota {
            resource: resource.to_owned(),
            flavor: flavor.to_owned(),
            more: amount(more),
        });
    }
    for (_, [resource, flavor, before, this, most]) in
        s.too_big.captures_iter(message).map(|c| c.extract())
    {
        found.push(AssignmentFailure::InsufficientQuota {
            resource: resource.to_owned(),
            flavor: flavor.to_owned(),
            requested: amount(before).plus(amount(this)),
            maximum: amount(most),
        });
    }
    for (_, [resource]) in s.not_covered.captures_iter(message).map(|c| c.extract()) {
        found.push(AssignmentFailure::ResourceUnavailable {
            resource: resource.to_owned(),
        });
    }
    for (_, [flavor]) in s.taint.captures_iter(message).map(|c| c.extract()) {
        found.push(AssignmentFailure::UntoleratedTaint {
            flavor: flavor.to_owned(),
        });
    }
    for (_, [flavor]) in s.affinity.captures_iter(message).map(|c| c.extract()) {
        found.push(AssignmentFailure::NodeAffinityMismatch {
            flavor: flavor.to_owned(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_of_the_scheduler_are_understood() {
        let message = "couldn't assign flavors to pod set main: flavor on-demand doesn't match node affinity, insufficient quota for cpu in flavor big, previously considered podsets requests (2) + current podset request (18) > maximum capacity (12), insufficient unused quota for nvidia.com/gpu in flavor spot, 3 more needed, resource memory unavailable in ClusterQueue, untolerated taint &Taint{Key:spot,Value:,Effect:NoSchedule,TimeAdded:<nil>,} in flavor tainted";
        let texts: Vec<_> = parse_assignment_failures(message)
            .iter()
            .map(AssignmentFailure::text)
            .collect();
        assert_eq!(
            texts,
            [
                "3 more gpu in spot",
                "20 cpu > maximum 12 in big",
                "no quota for memory",
                "does not tolerate a taint of tainted",
                "selects other nodes than on-demand's",
            ]
        );
    }

    #[test]
    fn the_end_of_a_sentence_is_not_part_of_an_amount() {
        let message = "couldn't assign flavors to pod set main: insufficient unused quota for memory in flavor default-flavor, 1536Mi more needed. Pending the preemption of 1 workload(s)";
        assert_eq!(
            parse_assignment_failures(message)[0].text(),
            "1.5Gi more memory in default-flavor"
        );
    }
}
