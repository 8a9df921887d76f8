//! The sentences of why a flavor is not assigned, byte for byte upstream's.

use crate::resources::ResourceFormatter;
use crate::{FlavorReason, UntoleratedTaint};

impl std::fmt::Display for UntoleratedTaint {
    /// As Go prints a taint: `{key value effect time}`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let added = self.time_added.as_deref().unwrap_or("<nil>");
        write!(f, "{{{} {} {} {added}}}", self.key, self.value, self.effect)
    }
}

impl FlavorReason {
    /// The sentence of conditions and Events.
    pub fn message(&self, formatter: &ResourceFormatter) -> String {
        match self {
            FlavorReason::ResourceUnavailable { resource } => {
                format!("resource {resource} unavailable in ClusterQueue")
            }
            FlavorReason::NotNominated { flavor, resource } => format!(
                "skipping flavor {flavor} as it is not found in the nomination mapping for resource {resource}"
            ),
            FlavorReason::NotAllowed { flavor } => format!(
                "skipping flavor {flavor} due to WorkloadAllowedResourceFlavorAnnotation annotation"
            ),
            FlavorReason::NotFound { flavor } => format!("flavor {flavor} not found"),
            FlavorReason::OnlyTopologyAwareScheduling { flavor } => {
                format!("Flavor {flavor:?} supports only TopologyAwareScheduling")
            }
            FlavorReason::NoTopologyAwareScheduling { flavor } => {
                format!("Flavor {flavor:?} does not support TopologyAwareScheduling")
            }
            FlavorReason::NotInTasCache { flavor } => {
                format!("Flavor {flavor:?} information missing in TAS cache")
            }
            FlavorReason::NoRequestedLevel { flavor } => {
                format!("Flavor {flavor:?} does not contain the requested level")
            }
            FlavorReason::UntoleratedTaint { flavor, taint } => {
                format!("untolerated taint {taint} in flavor {flavor}")
            }
            FlavorReason::NodeAffinityMismatch { flavor } => {
                format!("flavor {flavor} doesn't match node affinity")
            }
            FlavorReason::InsufficientQuota {
                flavor,
                resource,
                taken_before,
                requested,
                capacity,
            } => format!(
                "insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests ({}) + current podset request ({}) > maximum capacity ({})",
                formatter.amount_text(*resource, *taken_before),
                formatter.text(*resource, *requested),
                formatter.amount_text(*resource, *capacity),
            ),
            FlavorReason::InsufficientUnusedQuota {
                flavor,
                resource,
                missing,
            } => format!(
                "insufficient unused quota for {resource} in flavor {flavor}, {} more needed",
                formatter.amount_text(*resource, *missing),
            ),
            FlavorReason::OtherThanReplaced { flavor, replaced } => format!(
                "could not assign {flavor} flavor since the original workload is assigned: {replaced}"
            ),
            FlavorReason::ResourceNotProvided { flavor, resource } => {
                format!("flavor {flavor} does not provide resource {resource}")
            }
            FlavorReason::NoTopologyAssignment { failure } => failure.to_string(),
            FlavorReason::Other { message } => message.clone(),
        }
    }

    /// The sentences of several reasons, sorted.
    pub fn messages(reasons: &[FlavorReason], formatter: &ResourceFormatter) -> Vec<String> {
        let messages = reasons.iter().map(|reason| reason.message(formatter));
        let mut messages: Vec<String> = messages.collect();
        messages.sort_unstable();
        messages
    }
}
