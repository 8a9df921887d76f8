//! The sentences of why a workload is inadmissible, byte for byte upstream's.

use std::fmt::Write;

use crate::resources::ResourceFormatter;
use crate::{FlavorReason, InadmissibleCause, InadmissibleReason, PendingEvictions, PodSetReasons};

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
