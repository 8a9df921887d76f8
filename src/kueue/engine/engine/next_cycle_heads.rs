//! The heads of the next scheduling cycle, with the decision that it takes if it begins now.

use jiff::Timestamp;

use super::Engine;
use crate::cycle::{Decision, EntryStatus};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{
    CycleHead, HeadOutcome, InadmissibleCause, PendingEvictions, PendingReason,
};

impl Engine {
    /// The heads of the next cycle in the order in which it processes them, each with its decision. The cycle runs on a
    /// copy of the engine; empty without heads.
    pub fn next_cycle_heads(&self, now: Timestamp) -> Vec<CycleHead> {
        let mut copy = self.clone();
        let Some(cycle) = copy.cycle(now) else {
            return Vec::new();
        };
        let heads = cycle.decisions.iter();
        heads.map(|decision| self.cycle_head(decision)).collect()
    }

    fn cycle_head(&self, decision: &Decision) -> CycleHead {
        let outcome = match decision.status {
            EntryStatus::Assumed => HeadOutcome::Admits {
                flavors: flavors(decision),
                borrows: decision.borrowing > 0,
            },
            _ if issues_preemptions(decision) => HeadOutcome::Preempts {
                targets: targets(decision),
            },
            _ => HeadOutcome::Waits {
                reason: self.reason_of_head(decision),
            },
        };
        let workload = self.store.workload(&decision.workload);
        CycleHead {
            workload: decision.workload.to_string(),
            cluster_queue: decision.cluster_queue.to_string(),
            priority: workload.map_or(0, |wl| i64::from(wl.spec.priority.unwrap_or(0))),
            outcome,
        }
    }

    /// Why a head of a cycle is not admitted.
    fn reason_of_head(&self, decision: &Decision) -> PendingReason {
        let cause = decision.inadmissible.cause.as_ref();
        if decision.status == EntryStatus::PreemptionGated {
            return PendingReason::PreemptionGated;
        }
        let not_assigned = matches!(cause, Some(InadmissibleCause::NotAssigned { .. }));
        let workload = self.store.workload(&decision.workload);
        let pod_sets = |wl: &Workload| self.pod_set_shortages(wl, decision, decision);
        let pod_sets = workload.map(|wl| pod_sets(wl)).unwrap_or_default();
        let is_preempting = pod_sets.is_empty() && !decision.victims.is_empty();
        match cause {
            None if is_preempting => PendingReason::PendingPreemption {
                targets: decision.victims.len(),
            },
            Some(cause) if !not_assigned || pod_sets.is_empty() => PendingReason::Evaluated {
                cause: cause.clone(),
            },
            None if pod_sets.is_empty() => PendingReason::NotEvaluated { position: None },
            _ => PendingReason::Insufficient {
                pod_sets,
                preemption: decision.shortage.clone(),
            },
        }
    }
}

/// Whether the cycle evicts workloads for the head, which is requeued.
fn issues_preemptions(decision: &Decision) -> bool {
    let evictions = decision.inadmissible.evictions.as_ref();
    matches!(evictions, Some(PendingEvictions::Preemption(_))) && !decision.victims.is_empty()
}

/// The flavors of a decision, each once.
fn flavors(decision: &Decision) -> Vec<String> {
    let mut flavors = Vec::new();
    for choice in decision.pod_sets.iter().flat_map(|p| p.flavors.values()) {
        let flavor = choice.flavor.to_string();
        if !flavors.contains(&flavor) {
            flavors.push(flavor);
        }
    }
    flavors
}

fn targets(decision: &Decision) -> Vec<String> {
    let targets = decision.victims.iter();
    targets.map(|victim| victim.workload.to_string()).collect()
}
