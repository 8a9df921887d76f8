//! The state of a Workload.

use super::WorkloadRow;
use kueue_lab_api::constants::{
    ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED, finished, quota_reserved,
};

/// The state of a Workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadState {
    /// Evicted: its pods still terminate, or it is not pending again yet.
    Evicted,
    /// Pending.
    #[default]
    Pending,
    /// Has a quota reservation but is not admitted.
    QuotaReserved,
    /// Admitted.
    Admitted,
    /// spec.active is false.
    Inactive,
    /// Finished with failure.
    Failed,
    /// Finished with success.
    Finished,
}

impl WorkloadState {
    /// The displayed name.
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

    /// Whether it is finished.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Failed | Self::Finished)
    }
}

impl WorkloadRow {
    /// The state.
    pub fn state(&self) -> WorkloadState {
        self.state
    }

    /// The state by the conditions.
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
            // The quota is reserved until the pods are gone. Then the workload counts as evicted until
            // the scheduler evaluates it again.
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

    /// Whether it has a quota reservation.
    pub fn holds_quota(&self) -> bool {
        self.admission.is_some()
            && self.conditions.is_true(QUOTA_RESERVED)
            && !self.state().is_finished()
    }
}
