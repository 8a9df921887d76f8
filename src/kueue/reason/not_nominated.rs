//! Decides why no cycle evaluates a pending workload.

use jiff::Timestamp;
use kueue_lab_api::constants::evicted;

use crate::{InadmissibleCause, PendingReason};

/// What decides whether a cycle evaluates a pending workload, in the order in which Kueue looks at
/// it.
#[derive(Clone, Debug, Default)]
pub struct PendingFacts<'a> {
    /// The name of its LocalQueue; may be empty.
    pub queue_name: &'a str,
    /// spec.active.
    pub active: bool,
    /// What is wrong with its LocalQueue or ClusterQueue.
    pub queue: Option<PendingReason>,
    /// Why it is inadmissible regardless of quota.
    pub inadmissible: Option<InadmissibleCause>,
    /// Who gates its admission.
    pub admission_gated_by: Option<&'a str>,
    /// Whether its job is on hold.
    pub on_hold: bool,
    /// Whether pods that failed have to be replaced.
    pub waiting_for_replacement_pods: bool,
    /// The time at which it is requeued after an eviction.
    pub requeue_at: Option<Timestamp>,
    /// The reason of its condition Requeued while that is False.
    pub not_requeued: Option<&'a str>,
}

impl PendingFacts<'_> {
    /// The reason that no cycle evaluates the workload; none if one does.
    pub fn reason(self, now: Timestamp) -> Option<PendingReason> {
        if self.queue_name.is_empty() {
            return Some(PendingReason::NoQueueName);
        }
        if !self.active {
            return Some(PendingReason::Deactivated);
        }
        if self.queue.is_some() {
            return self.queue;
        }
        if let Some(cause) = self.inadmissible {
            return Some(PendingReason::Inadmissible { cause });
        }
        if let Some(by) = self.admission_gated_by {
            let by = by.to_owned();
            return Some(PendingReason::AdmissionGated { by });
        }
        if self.on_hold {
            return Some(PendingReason::OnHold);
        }
        if self.waiting_for_replacement_pods {
            return Some(PendingReason::WaitingForReplacementPods);
        }
        if let Some(until) = self.requeue_at.filter(|at| *at > now) {
            return Some(PendingReason::RequeueBackoff { until });
        }
        // The workload is not queued while the condition is False. The controller changes only
        // these reasons.
        let changed_by_kueue = [
            evicted::DEACTIVATED,
            evicted::PODS_READY_TIMEOUT,
            evicted::ADMISSION_CHECK,
        ];
        let reason = self.not_requeued?;
        (!changed_by_kueue.contains(&reason)).then(|| PendingReason::NotRequeued {
            reason: reason.to_owned(),
        })
    }
}

impl PendingReason {
    /// An inactive ClusterQueue, with the message of its Active condition.
    pub fn cluster_queue_inactive(name: &str, active_message: &str) -> Self {
        let reason = active_message.strip_prefix("Can't admit new workloads");
        let reason = reason.map(|reason| reason.trim_matches([':', ';', ' ', '.']).to_owned());
        PendingReason::ClusterQueueInactive {
            name: name.to_owned(),
            reasons: reason.into_iter().filter(|r| !r.is_empty()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued() -> PendingFacts<'static> {
        PendingFacts {
            queue_name: "lq",
            active: true,
            ..PendingFacts::default()
        }
    }

    #[test]
    fn a_backoff_ends() {
        let until: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let facts = PendingFacts {
            requeue_at: Some(until),
            ..queued()
        };
        let before = until - jiff::SignedDuration::from_secs(1);
        assert_eq!(
            facts.clone().reason(before),
            Some(PendingReason::RequeueBackoff { until })
        );
        assert_eq!(facts.reason(until), None);
    }

    #[test]
    fn only_reasons_that_kueue_does_not_change_hold() {
        let reason = |reason| {
            let facts = PendingFacts {
                not_requeued: Some(reason),
                ..queued()
            };
            facts.reason(Timestamp::UNIX_EPOCH)
        };
        assert_eq!(reason("PodsReadyTimeout"), None);
        let reason = reason("Custom").unwrap();
        assert_eq!(reason.kind(), crate::PendingVerdictKind::Held);
    }

    #[test]
    fn an_inactive_cluster_queue_has_the_reasons_of_its_condition() {
        let reasons = |message| match PendingReason::cluster_queue_inactive("cq", message) {
            PendingReason::ClusterQueueInactive { reasons, .. } => reasons,
            _ => Vec::new(),
        };
        assert_eq!(
            reasons("Can't admit new workloads: is stopped."),
            ["is stopped"]
        );
        assert_eq!(
            reasons("Can't admit new workloads; clusterQueue is terminating"),
            ["clusterQueue is terminating"]
        );
        assert!(reasons("Can't admit new workloads.").is_empty());
        assert!(reasons("Can admit new workloads").is_empty());
    }
}
