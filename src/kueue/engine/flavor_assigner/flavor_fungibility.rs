//! Flavor fungibility: which of two flavors is preferred, whether the next flavor is tried, and
//! where the next attempt resumes. Implements `spec.flavorFungibility` of a ClusterQueue.
//!
//! Must not depend on flavors or quota.

use super::granular_mode::{GranularMode, PreemptionMode};
use crate::cache::FlavorFungibilityConfig;

impl GranularMode {
    /// Whether this mode is strictly preferred, by the preference of a ClusterQueue.
    pub fn is_preferred_to(
        self,
        other: GranularMode,
        fungibility: &FlavorFungibilityConfig,
    ) -> bool {
        use PreemptionMode::{NoCandidates, NoFit};
        if self.preemption == NoFit {
            return false;
        }
        if other.preemption == NoFit {
            return true;
        }
        // A mode without candidates is not preferred, regardless of the preference.
        let without_candidates = (
            self.preemption == NoCandidates,
            other.preemption == NoCandidates,
        );
        if without_candidates.0 != without_candidates.1 {
            return without_candidates.1;
        }
        let preempts_less = self.preemption.cmp(&other.preemption);
        let borrows_less = other.borrow.cmp(&self.borrow);
        let better = if fungibility.prefer_less_borrowing {
            borrows_less.then(preempts_less)
        } else {
            preempts_less.then(borrows_less)
        };
        better.is_gt()
    }

    /// Whether the next flavor is tried after this mode.
    pub(crate) fn should_try_next_flavor(self, fungibility: &FlavorFungibilityConfig) -> bool {
        use PreemptionMode as P;
        match self.preemption {
            P::NoFit | P::NoCandidates => true,
            P::Preempt | P::Reclaim if fungibility.try_next_if_preempting => true,
            _ => self.borrow > 0 && fungibility.try_next_if_borrowing,
        }
    }
}

/// The index of the last flavor tried, from which the next attempt resumes; -1 starts over, when
/// no flavor was tried or the last one of the group was.
pub(super) fn tried_flavor_idx(last_tried: Option<usize>, flavor_count: usize) -> i32 {
    last_tried
        .filter(|&tried| tried + 1 < flavor_count)
        .and_then(|tried| i32::try_from(tried).ok())
        .unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resumes_after_the_last_tried_flavor_and_starts_over_after_the_last_of_the_group() {
        assert_eq!(tried_flavor_idx(None, 3), -1);
        assert_eq!(tried_flavor_idx(Some(0), 3), 0);
        assert_eq!(tried_flavor_idx(Some(2), 3), -1);
        assert_eq!(tried_flavor_idx(None, 0), -1);
    }
}
