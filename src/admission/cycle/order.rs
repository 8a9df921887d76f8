//! The order of entries without fair sharing.

use std::cmp::Ordering;

use super::entry::Entry;
use crate::admission::gates::Gates;
use crate::admission::workload::predicates;

/// Sorts entries: those that hold quota already, preemptors, those that borrow from less far away,
/// higher priorities, earlier times. Equals stay in the order of the heads.
pub fn sort(entries: &mut [Entry], gates: &Gates) {
    entries.sort_by(|a, b| compare(a, b, gates));
}

fn compare(a: &Entry, b: &Entry, gates: &Gates) -> Ordering {
    let reserved = |e: &Entry| predicates::has_quota_reservation(&e.info.obj);
    let preemptors = if gates.prioritize_preemptor_workloads {
        b.is_preemptor.cmp(&a.is_preemptor)
    } else {
        Ordering::Equal
    };
    let priorities = if gates.priority_sorting_within_cohort {
        b.info.priority.cmp(&a.info.priority)
    } else {
        Ordering::Equal
    };
    reserved(b)
        .cmp(&reserved(a))
        .then(preemptors)
        .then_with(|| a.assignment.borrowing.cmp(&b.assignment.borrowing))
        .then(priorities)
        .then_with(|| a.info.queue_timestamp.cmp(&b.info.queue_timestamp))
}
