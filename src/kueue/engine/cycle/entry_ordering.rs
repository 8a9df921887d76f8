//! The order of entries without fair sharing.

use std::cmp::Reverse;

use super::entry::Entry;
use crate::feature_gates::Gates;
use crate::workload::predicates;

/// Sorts entries: with quota reservation, preemptors, lower borrowing levels, higher priorities,
/// earlier timestamps. Ties keep the order of the heads.
pub fn sort_entries(entries: &mut [Entry], gates: &Gates) {
    // Entries are large: keys are sorted, and each entry is moved once.
    entries.sort_by_cached_key(|entry| precedence(entry, gates));
}

fn precedence(entry: &Entry, gates: &Gates) -> impl Ord + use<> {
    let reserved = predicates::has_quota_reservation(&entry.info.obj);
    let preemptor = gates.prioritize_preemptor_workloads && entry.is_preemptor;
    let priority = gates
        .priority_sorting_within_cohort
        .then_some(entry.info.priority);
    (
        Reverse(reserved),
        Reverse(preemptor),
        entry.assignment.borrowing,
        Reverse(priority),
        entry.info.queue_timestamp,
    )
}
