//! Renders verdicts for people: `explain`, `plan`, `simulate` and the UI say the same, in their
//! units.

use std::fmt::Write;

use crate::resources::{Amount, ResourceFormatter, ResourceName};
use crate::{
    FlavorReason, PendingReason, PermanentReason, PodSetShortage, PreemptionShortageReason,
    ResourceShortage, Shortage, WorkloadsAhead,
};

/// How a text names resources and amounts.
pub trait TextStyle {
    /// An amount of a resource, without its name.
    fn amount(&self, resource: ResourceName, amount: Amount) -> String;

    /// The name of a resource.
    fn resource(&self, resource: ResourceName) -> &'static str {
        resource.as_str()
    }
}

impl TextStyle for ResourceFormatter {
    fn amount(&self, resource: ResourceName, amount: Amount) -> String {
        self.amount_text(resource, amount)
    }
}

impl std::fmt::Display for WorkloadsAhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "behind {} ({} ahead)", self.first, self.count)
    }
}

impl PendingReason {
    /// The reason as text.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        match self {
            PendingReason::NoQueueName => "it names no LocalQueue".to_owned(),
            PendingReason::Deactivated => "spec.active is false".to_owned(),
            PendingReason::LocalQueueNotFound { name } => {
                format!("LocalQueue {name} doesn't exist")
            }
            PendingReason::LocalQueueInactive { name } => format!("LocalQueue {name} is inactive"),
            PendingReason::ClusterQueueNotFound { name } => {
                format!("ClusterQueue {name} doesn't exist")
            }
            PendingReason::ClusterQueueInactive { name, reasons } if reasons.is_empty() => {
                format!("ClusterQueue {name} is inactive")
            }
            PendingReason::ClusterQueueInactive { name, reasons } => {
                format!("ClusterQueue {name} is inactive: {}", reasons.join("; "))
            }
            PendingReason::Inadmissible { cause } | PendingReason::Evaluated { cause } => {
                cause.message(&ResourceFormatter::default())
            }
            PendingReason::AdmissionGated { by } => format!("admission is gated by {by}"),
            PendingReason::PreemptionGated => "it requires preemption, which is gated".to_owned(),
            PendingReason::OnHold => "its job is on hold".to_owned(),
            PendingReason::WaitingForReplacementPods => {
                "it waits for replacement pods: WaitingForReplacementPods is True".to_owned()
            }
            PendingReason::RequeueBackoff { until } => {
                format!("its requeue backoff ends at {until:.0}")
            }
            PendingReason::NotRequeued { reason } => format!(
                "its condition Requeued is False with the reason {reason}, which Kueue does not change"
            ),
            PendingReason::NeverFits { pod_set, reasons } => {
                let reasons = reasons.iter().map(|reason| reason.text(style));
                let reasons: Vec<String> = reasons.collect();
                in_pod_set(pod_set.as_deref(), &reasons.join("; "))
            }
            PendingReason::Fits { behind: None } => {
                "it fits, the next cycle evaluates it".to_owned()
            }
            PendingReason::Fits {
                behind: Some(behind),
            } => format!("it fits, {behind}"),
            PendingReason::AwaitsRequeue { inadmissible, .. } => {
                format!("it would fit now, but is {inadmissible}")
            }
            PendingReason::DeferredFit => {
                "it fits once the preempted workloads release their quota".to_owned()
            }
            PendingReason::NeedsPreemption {
                targets,
                more,
                behind,
            } => {
                let mut text = format!("it needs the quota of {}", targets.join(", "));
                if *more > 0 {
                    let _ = write!(text, " and {more} more");
                }
                if let Some(behind) = behind {
                    let _ = write!(text, "; {behind}");
                }
                text
            }
            PendingReason::PendingPreemption { targets: 1 } => {
                "pending the preemption of 1 workload".to_owned()
            }
            PendingReason::PendingPreemption { targets } => {
                format!("pending the preemption of {targets} workloads")
            }
            PendingReason::Insufficient {
                pod_sets,
                preemption,
            } => {
                let pod_sets = pod_sets.iter().map(|pod_set| pod_set.text(style));
                let preemption = preemption.iter().map(|shortage| shortage.text(style));
                let texts: Vec<String> = pod_sets.chain(preemption).collect();
                texts.join("; ")
            }
            PendingReason::BlockedByHead { behind } => format!(
                "behind {} ({} ahead, StrictFIFO)",
                behind.first, behind.count
            ),
            PendingReason::NotEvaluated { position: None } => "not evaluated yet".to_owned(),
            PendingReason::NotEvaluated {
                position: Some(position),
            } => format!("not evaluated yet, position {position}"),
        }
    }
}

/// A text with the pod set it is about, if there are several.
fn in_pod_set(pod_set: Option<&str>, text: &str) -> String {
    match pod_set {
        None => text.to_owned(),
        Some(pod_set) => format!("pod set {pod_set}: {text}"),
    }
}

impl PermanentReason {
    /// The reason as text.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        match self {
            PermanentReason::NoQuota {
                cluster_queue,
                resource,
                requested,
            } => format!(
                "{} {}, for which ClusterQueue {cluster_queue} has no quota",
                style.amount(*resource, *requested),
                style.resource(*resource)
            ),
            PermanentReason::Mismatch { reason } => mismatch_text(reason),
            PermanentReason::ExceedsCapacity {
                flavor,
                resource,
                requested,
                capacity,
            } => format!(
                "{} {} > maximum {} in {flavor}",
                style.amount(*resource, *requested),
                style.resource(*resource),
                style.amount(*resource, *capacity)
            ),
            PermanentReason::NoTopologyAssignment { failure, .. } => {
                format!("{failure} with all nodes free")
            }
        }
    }
}

fn mismatch_text(reason: &FlavorReason) -> String {
    match reason {
        FlavorReason::UntoleratedTaint { flavor, taint } => {
            let value = match taint.value.as_str() {
                "" => String::new(),
                value => format!("={value}"),
            };
            format!(
                "does not tolerate the taint {}{value}:{} of {flavor}",
                taint.key, taint.effect
            )
        }
        FlavorReason::NodeAffinityMismatch { flavor } => {
            format!("selects other nodes than {flavor}'s")
        }
        reason => reason.message(&ResourceFormatter::default()),
    }
}

impl PodSetShortage {
    /// The shortage as text.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        in_pod_set(self.pod_set.as_deref(), &self.shortage.text(style))
    }
}

impl Shortage {
    /// The shortage as text.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        match self {
            Shortage::Quota { missing, pods } => {
                let texts = missing.iter().map(|missing| {
                    let amount = style.amount(missing.resource, missing.missing);
                    let resource = style.resource(missing.resource);
                    format!("{amount} more {resource} in {}", missing.flavor)
                });
                let text = texts.collect::<Vec<_>>().join(", ");
                match pods {
                    Some((least, count)) => format!("{text} for {least} of {count} pods"),
                    None => text,
                }
            }
            Shortage::Topology {
                flavor,
                failure,
                not_preempted_in,
            } => {
                let mut text = format!("{failure} with all nodes free");
                if !not_preempted_in.is_empty() {
                    let _ = write!(
                        text,
                        "; {flavor} has unused quota, so nothing is preempted in {} \
                         (flavorFungibility.whenCanPreempt is TryNextFlavor)",
                        not_preempted_in.join(", ")
                    );
                }
                text
            }
            Shortage::Reasons { reasons } => {
                FlavorReason::messages(reasons, &ResourceFormatter::default()).join(", ")
            }
        }
    }
}

impl PreemptionShortageReason {
    /// What the preemption frees and what is missing then, as text.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        let targets = match self.targets {
            1 => "the only candidate that is allowed".to_owned(),
            2 => "both candidates that are allowed".to_owned(),
            targets => format!("all {targets} candidates that are allowed"),
        };
        let texts = self.resources.iter().map(|shortage| {
            let ResourceShortage {
                flavor,
                resource,
                freed,
                missing,
            } = shortage;
            let freed = style.amount(*resource, *freed);
            let missing = style.amount(*resource, *missing);
            let resource = style.resource(*resource);
            let within = match self.borrowing {
                true => "",
                false => " without borrowing",
            };
            format!("frees {freed} {resource} in {flavor}, {missing} more are missing{within}")
        });
        let texts: Vec<String> = texts.collect();
        match texts.is_empty() {
            true => format!("the preemption of {targets} leaves no topology assignment"),
            false => format!("the preemption of {targets} {}", texts.join("; it ")),
        }
    }
}
