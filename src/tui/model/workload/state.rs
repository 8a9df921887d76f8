//! Where a Workload stands, in one word.

use super::WorkloadRow;
use kueue_lab_api::constants::{
    ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED, finished, quota_reserved,
};

/// Where a Workload stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadState {
    /// Lost its admission: still leaving, or not yet back in the queue.
    Evicted,
    /// Waits for quota.
    #[default]
    Pending,
    /// Holds quota, but some AdmissionCheck is not ready.
    QuotaReserved,
    /// Runs, or may.
    Admitted,
    /// Turned off.
    Inactive,
    /// Ended badly.
    Failed,
    /// Ended well.
    Finished,
}

impl WorkloadState {
    /// Every state, those that need attention first.
    pub const ALL: [Self; 7] = [
        Self::Evicted,
        Self::Pending,
        Self::QuotaReserved,
        Self::Admitted,
        Self::Inactive,
        Self::Failed,
        Self::Finished,
    ];

    /// The state as it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Evicted => "Evicted",
            Self::Pending => "Pending",
            Self::QuotaReserved => "Reserved",
            Self::Admitted => "Admitted",
            Self::Inactive => "Inactive",
            Self::Failed => "Failed",
            Self::Finished => "Finished",
        }
    }

    /// Whether nothing more will happen to it.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Failed | Self::Finished)
    }
}

impl WorkloadRow {
    /// Where it stands.
    pub fn state(&self) -> WorkloadState {
        self.state
    }

    /// Where it stands by its conditions.
    pub(super) fn compute_state(&self) -> WorkloadState {
        let conds = &self.conditions;
        if let Some(end) = conds.when_true(FINISHED) {
            return match end.reason.as_str() {
                finished::FAILED | finished::FAILED_TO_START => WorkloadState::Failed,
                _ => WorkloadState::Finished,
            };
        }
        let holds_quota = conds.is_true(QUOTA_RESERVED);
        if conds.is_true(EVICTED) {
            // Quota is held until the pods are gone; then the eviction shows until the scheduler
            // has looked at the workload again.
            let back = conds
                .when_false(QUOTA_RESERVED)
                .is_some_and(|c| c.reason != quota_reserved::PENDING_EVALUATION)
                && conds.when_false(REQUEUED).is_none();
            if holds_quota || (self.active && !back) {
                return WorkloadState::Evicted;
            }
        }
        if conds.is_true(ADMITTED) {
            WorkloadState::Admitted
        } else if holds_quota {
            WorkloadState::QuotaReserved
        } else if !self.active {
            WorkloadState::Inactive
        } else {
            WorkloadState::Pending
        }
    }

    /// Whether it holds quota.
    pub fn holds_quota(&self) -> bool {
        self.admission.is_some()
            && self.conditions.is_true(QUOTA_RESERVED)
            && !self.state().is_finished()
    }
}
