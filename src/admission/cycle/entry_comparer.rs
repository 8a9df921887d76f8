//! The order of two entries under a cohort.

use jiff::Timestamp;

use crate::cache::Drs;
use crate::feature_gates::Gates;
use crate::resources::FlavorResourceQuantities;

/// An entry as it competes under some cohort.
#[derive(Clone, Copy, Debug)]
pub struct FairSharingEntry<'a> {
    /// Whether its preemptions are in progress.
    pub is_preemptor: bool,
    /// The share, with the workload, of the child of the cohort that the entry comes from.
    pub share: &'a Drs,
    /// What the workload asks for.
    pub requested: &'a FlavorResourceQuantities,
    /// Its priority.
    pub priority: i64,
    /// The time that orders it.
    pub timestamp: Timestamp,
}

/// Whether `a` goes before `b`: preemptors, those whose subtree does not borrow what they ask for,
/// lower shares, higher priorities, earlier times.
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
