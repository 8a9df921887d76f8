//! Loops of scheduling attempts, detected in Events.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;

use super::event::EventRow;
use kueue_lab_api::constants::{event, quota_reserved};
use kueue_lab_api::preemption_message::PreemptionMessage;
use kueue_lab_preemption_loops::{LoopDetector, SchedulingLoop};

/// Reasons of Events of scheduling attempts without admission.
const UNADMITTED: [&str; 7] = [
    quota_reserved::NO_MATCHING_FLAVOR,
    quota_reserved::WAITING_FOR_QUOTA,
    quota_reserved::EXCEEDS_MAX_QUOTA,
    quota_reserved::TOPOLOGY_PLACEMENT_FAILED,
    quota_reserved::WAITING_FOR_PREEMPTED_WORKLOADS,
    quota_reserved::INADMISSIBLE,
    quota_reserved::PENDING,
];

/// Records a preemption or a scheduling attempt without admission.
pub(super) fn record_event(detector: &mut LoopDetector, row: &EventRow) {
    if row.kind != "Workload" {
        return;
    }
    detector.record_name(&row.uid, &row.object.to_string());
    if row.reason == event::PREEMPTED {
        if let Some(preemptor) = PreemptionMessage::parse(&row.message).preemptor {
            detector.record_preemption(row.at, &preemptor, &row.uid);
        }
    } else if UNADMITTED.contains(&row.reason.as_str()) {
        detector.record_message(row.at, &row.uid, &row.message);
    }
}

/// Records Events, in order of time.
pub(super) fn record_events(detector: &mut LoopDetector, rows: &[EventRow]) {
    let mut rows: Vec<&EventRow> = rows.iter().collect();
    rows.sort_by_key(|row| row.at);
    for row in rows {
        record_event(detector, row);
    }
}

/// The loops of scheduling attempts in the Events of a cluster. Its time may be ahead of the clock.
pub fn loops_in_events(events: &[Event], now: Timestamp) -> Vec<SchedulingLoop> {
    let rows: Vec<EventRow> = events.iter().map(EventRow::of).collect();
    let mut detector = LoopDetector::default();
    record_events(&mut detector, &rows);
    let latest = rows.iter().map(|row| row.at).max();
    detector.loops(latest.map_or(now, |latest| latest.max(now)))
}
