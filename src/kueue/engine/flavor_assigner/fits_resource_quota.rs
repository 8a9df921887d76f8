//! Evaluates the quota of one flavor resource: the request fits, may fit after preemption, or does
//! not fit.

use super::assigner::{FlavorAssigner, PreemptionOracle};
use super::granular_mode::{GranularMode, PreemptionMode};
use super::resource_attempt::ResourceAttempt;
use crate::cache::PreemptionPolicy;
use crate::queue::QuotaReservedReason;
use crate::resources::{Amount, FlavorResourceId};
use crate::snapshot_transaction::SnapshotTransaction;
use kueue_lab_reason::FlavorReason;

/// The evaluation of the quota of one flavor resource.
pub(super) struct QuotaEvaluation {
    pub mode: GranularMode,
    /// The reasons that it does not fit, with the reason if preemption does not help.
    pub no_fit: Option<(FlavorReason, Option<QuotaReservedReason>)>,
    pub attempt: ResourceAttempt,
}

impl FlavorAssigner<'_> {
    /// Evaluates the quota of one flavor resource.
    pub(super) fn fits_resource_quota(
        &self,
        snapshot: &mut SnapshotTransaction<'_>,
        oracle: &mut dyn PreemptionOracle,
        fr: FlavorResourceId,
        assigned_usage: Amount,
        requested: i64,
    ) -> QuotaEvaluation {
        let hierarchy = &snapshot.cache.hierarchy;
        let available = snapshot.available(self.node, fr);
        let most = hierarchy.potential_available(self.node, fr);
        let amount = assigned_usage.plus(Amount::new(requested));
        let pair = hierarchy.frs.pair(fr);
        let (resource, flavor) = (pair.resource, &pair.flavor);
        let nominal = hierarchy[self.node].resources.quota(fr).nominal;
        let evaluate = |preemption: PreemptionMode, borrow, no_fit| QuotaEvaluation {
            mode: GranularMode { preemption, borrow },
            no_fit,
            attempt: ResourceAttempt {
                resource,
                mode: preemption.mode(),
                borrow,
                preemption_possibility: preemption.possibility(),
                requested: Amount::new(requested),
                taken_before: assigned_usage,
                available,
                capacity: most,
                nominal,
                missing: amount.minus(available).or_zero(),
            },
        };
        if amount > most {
            let reason = FlavorReason::InsufficientQuota {
                flavor: flavor.clone(),
                resource,
                taken_before: assigned_usage,
                requested,
                capacity: most,
            };
            let no_fit = Some((reason, Some(QuotaReservedReason::ExceedsMaxQuota)));
            return evaluate(PreemptionMode::NoFit, 0, no_fit);
        }
        let (borrow, may_reclaim) =
            hierarchy.height_of_lowest_subtree_that_fits(self.node, fr, amount);
        if amount <= available {
            return evaluate(PreemptionMode::Fit, borrow, None);
        }
        let reason = FlavorReason::InsufficientUnusedQuota {
            flavor: flavor.clone(),
            resource,
            missing: amount.minus(available),
        };
        if nominal >= amount || may_reclaim || self.can_preempt_while_borrowing(snapshot) {
            let (possibility, borrow) =
                oracle.simulate_preemption(snapshot, self.node, self.wl, fr, amount);
            return evaluate(possibility.into(), borrow, Some((reason, None)));
        }
        let no_fit = Some((reason, Some(QuotaReservedReason::WaitingForQuota)));
        evaluate(PreemptionMode::NoFit, borrow, no_fit)
    }

    fn can_preempt_while_borrowing(&self, snapshot: &SnapshotTransaction<'_>) -> bool {
        self.preemption.borrow_within_cohort.is_some()
            || (snapshot.config.fair_sharing_enabled()
                && self.preemption.reclaim_within_cohort != PreemptionPolicy::Never)
    }
}
