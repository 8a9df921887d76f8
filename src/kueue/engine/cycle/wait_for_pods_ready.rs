//! Blocks admission until the pods of all admitted workloads are ready
//! (`waitForPodsReady.blockAdmission`).

use super::action::ActionKind;
use super::scheduling_cycle::SchedulingCycle;
use crate::status::StatusChange;
use crate::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_reason::InadmissibleCause;

impl SchedulingCycle<'_> {
    /// Whether the entry has to wait until the pods of all admitted workloads are ready. A second
    /// pass does not wait: the workload would wait for its own pods.
    pub(super) fn must_wait_for_pods_ready(&self, i: usize) -> bool {
        self.snapshot.config.block_admission_until_pods_ready
            && !predicates::needs_second_pass(&self.entries[i].info.obj)
            && (self.unready_assumed
                || !self.snapshot.cache.pods_ready_for_all_admitted_workloads())
    }

    pub(super) fn set_waiting_for_pods_ready(&mut self, i: usize) {
        let granular = self
            .snapshot
            .config
            .gates
            .unadmitted_workloads_observability;
        let reason = if granular {
            c::quota_reserved::WAITING_FOR_PODS_READY
        } else {
            c::quota_reserved::WAITING
        };
        let change = StatusChange::Unreserve {
            reason: reason.to_owned(),
            message: InadmissibleCause::WaitingForPodsReady
                .message(&self.snapshot.config.formatter),
            resource_requests: None,
            preemption_gated: false,
        };
        let identity = self.entries[i].info.identity();
        let kind = ActionKind::WaitForPodsReady;
        self.push_action(i, kind, identity, Some(change), Vec::new());
    }
}
