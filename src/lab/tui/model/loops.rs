//! Loops of scheduling attempts, detected in Events.

use super::event::EventRow;
use kueue_lab_preemption_loops::{LoopDetector, WorkloadEvent};

/// Records Events of preemptions and of scheduling attempts without admission, in order of time.
pub(super) fn record_events(detector: &mut LoopDetector, rows: &[EventRow]) {
    let about_workloads = rows.iter().filter(|row| row.kind == "Workload");
    let mut rows: Vec<&EventRow> = about_workloads.collect();
    rows.sort_by_key(|row| row.at);
    for row in rows {
        let event = WorkloadEvent {
            at: row.at,
            uid: &row.uid,
            reason: &row.reason,
            message: &row.message,
        };
        detector.record_event(event, &row.object.to_string());
    }
}
