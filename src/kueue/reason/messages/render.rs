//! Renders reasons as upstream's sentences, byte for byte.

use std::fmt::Write;

use crate::resources::ResourceFormatter;
use crate::{
    FlavorReason, InadmissibleCause, InadmissibleReason, PendingEvictions, PodSetReasons,
    UntoleratedTaint,
};

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

impl InadmissibleReason {
    /// The message of the condition; empty before it is evaluated.
    pub fn message(&self, formatter: &ResourceFormatter) -> String {
        let cause = self.cause.as_ref();
        let mut message = cause.map_or_else(String::new, |cause| cause.message(formatter));
        let _ = match self.evictions {
            None => Ok(()),
            Some(PendingEvictions::Preemption(count)) => {
                write!(message, ". Pending the preemption of {count} workload(s)")
            }
            Some(PendingEvictions::PreemptionFailed(count)) => {
                write!(
                    message,
                    ". Preempting {count} workload(s) failed, will retry."
                )
            }
            Some(PendingEvictions::Migration) => {
                write!(message, ". Pending the migration of 1 workload(s)")
            }
        };
        message
    }
}

impl InadmissibleCause {
    /// The sentence of the condition.
    pub fn message(&self, formatter: &ResourceFormatter) -> String {
        use InadmissibleCause as C;
        match self {
            C::NotAssigned { pod_sets } => {
                let parts = pod_sets.iter().map(|PodSetReasons { name, reasons }| {
                    let reasons = FlavorReason::messages(reasons, formatter).join(", ");
                    format!("couldn't assign flavors to pod set {name}: {reasons}")
                });
                parts.collect::<Vec<_>>().join("; ")
            }
            C::AssignmentFailed { pod_set, error } => {
                format!("failed to assign flavors to pod set {pod_set}: {error}")
            }
            C::LocalQueueNotFound { name } => format!("LocalQueue {name} doesn't exist"),
            C::LocalQueueInactive { name } => format!("LocalQueue {name} is inactive"),
            C::ClusterQueueNotFound { name } => format!("ClusterQueue {name} doesn't exist"),
            C::ClusterQueueNotInCache { name } => format!("ClusterQueue {name} not found"),
            C::ClusterQueueInactive { name } => format!("ClusterQueue {name} is inactive"),
            C::NamespaceNotFound { name } => {
                format!("workload namespace {name:?} does not exist: namespaces {name:?} not found")
            }
            C::InvalidNamespaceSelector { error } => {
                format!("invalid namespace selector: {error}")
            }
            C::InvalidResources { errors } => format!("resources validation failed: {errors}"),
            C::LimitRange { errors } => {
                format!("resources didn't satisfy LimitRange constraints: {errors}")
            }
            C::AdmissionGated { by } => format!("Admission is gated by: {by}"),
            C::NotCached { workload } => format!(
                "Failed to admit workload: workload {workload} could not be added to the cache"
            ),
            C::Other { message } => message.clone(),
            without_data => without_data.sentence().to_owned(),
        }
    }

    /// The sentence of a cause without data; empty for the others.
    fn sentence(&self) -> &'static str {
        use InadmissibleCause as C;
        match self {
            C::FailedAdmissionChecks => "The workload has failed admission checks",
            C::NamespaceMismatch => "workload namespace doesn't match ClusterQueue selector",
            C::Deactivated => "The workload is deactivated",
            C::Bypassed => {
                "Bypassed scheduling evaluation because an equivalent workload recently failed"
            }
            C::PendingEvaluation => "Workload is pending evaluation in the scheduling queue",
            C::MoreFavorableVariant => "A more favorable variant is already admitted",
            C::BelowLastAcceptableFlavor => "Target flavor is below LastAcceptableFlavorName",
            C::PreemptionGated => "Workload requires preemption, but it's gated",
            C::OverlappingTargets => {
                "Workload has overlapping preemption targets with another workload"
            }
            C::DeferredFit => {
                "Workload has overlapping preemption targets with another workload, but will fit after these preemptions complete"
            }
            C::NoLongerFits => "Workload no longer fits after processing another workload",
            C::WaitingForPodsReady => {
                "waiting for all admitted workloads to be in PodsReady condition"
            }
            C::NotAssigned { .. }
            | C::AssignmentFailed { .. }
            | C::LocalQueueNotFound { .. }
            | C::LocalQueueInactive { .. }
            | C::ClusterQueueNotFound { .. }
            | C::ClusterQueueNotInCache { .. }
            | C::ClusterQueueInactive { .. }
            | C::NamespaceNotFound { .. }
            | C::InvalidNamespaceSelector { .. }
            | C::InvalidResources { .. }
            | C::LimitRange { .. }
            | C::AdmissionGated { .. }
            | C::NotCached { .. }
            | C::Other { .. } => "",
        }
    }

    /// The cause without data that a sentence names.
    pub(super) fn of_sentence(sentence: &str) -> Option<InadmissibleCause> {
        use InadmissibleCause as C;
        let causes = [
            C::FailedAdmissionChecks,
            C::NamespaceMismatch,
            C::Deactivated,
            C::Bypassed,
            C::PendingEvaluation,
            C::MoreFavorableVariant,
            C::BelowLastAcceptableFlavor,
            C::PreemptionGated,
            C::OverlappingTargets,
            C::DeferredFit,
            C::NoLongerFits,
            C::WaitingForPodsReady,
        ];
        causes
            .into_iter()
            .find(|cause| cause.sentence() == sentence)
    }
}
