//! Compares two entries below a cohort, for fair sharing.

use jiff::Timestamp;

use crate::cache::Drs;
use crate::feature_gates::Gates;
use crate::resources::FlavorResourceQuantities;

/// An entry in the tournament of a cohort.
#[derive(Clone, Copy, Debug)]
pub struct FairSharingEntry<'a> {
    /// Whether its preemptions are in progress.
    pub is_preemptor: bool,
    /// The share, including the workload, of the cohort's child that the entry belongs to.
    pub share: &'a Drs,
    /// The requests of the workload.
    pub requested: &'a FlavorResourceQuantities,
    /// Its priority.
    pub priority: i64,
    /// Its queue order timestamp.
    pub timestamp: Timestamp,
}

/// Whether `a` is ordered before `b`: preemptors, entries whose subtree does not borrow the
/// requested resources, lower shares, higher priorities, earlier timestamps.
pub fn entry_less(a: &FairSharingEntry<'_>, b: &FairSharingEntry<'_>, gates: &Gates) -> bool {
    if gates.prioritize_preemptor_workloads && a.is_preemptor != b.is_preemptor {
        return a.is_preemptor;
    }
    if gates.fair_sharing_prioritize_non_borrowing {
        let borrows = |c: &FairSharingEntry<'_>| c.share.is_borrowing_on(c.requested);
        let (a_borrows, b_borrows) = (borrows(a), borrows(b));
        if a_borrows != b_borrows {
            return b_borrows;
        }
    }
    let by_share = a.share.compare(b.share);
    if by_share.is_ne() {
        return by_share.is_lt();
    }
    if gates.priority_sorting_within_cohort && a.priority != b.priority {
        return a.priority > b.priority;
    }
    a.timestamp < b.timestamp
}
