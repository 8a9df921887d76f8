//! Preemptions and messages of Workloads in Events.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kueue_lab_api::constants::{event, quota_reserved};
use kueue_lab_reason::PreemptionMessage;

use crate::detected_loop::DetectedLoop;
use crate::detector::LoopDetector;

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

/// An Event about a Workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadEvent<'a> {
    /// The time of its last occurrence.
    pub at: Timestamp,
    /// The UID of the Workload.
    pub uid: &'a str,
    /// Its reason.
    pub reason: &'a str,
    /// Its message.
    pub message: &'a str,
}

impl LoopDetector {
    /// Records an Event about a Workload with this namespace and name, if it is of a preemption or a scheduling
    /// attempt without admission.
    pub fn record_event(&mut self, event: WorkloadEvent<'_>, name: &str) {
        let WorkloadEvent {
            at,
            uid,
            reason,
            message,
        } = event;
        self.record_name(uid, name);
        if reason == event::PREEMPTED {
            if let Some(preemptor) = PreemptionMessage::parse(message).preemptor {
                self.record_preemption(at, &preemptor, uid);
            }
        } else if UNADMITTED.contains(&reason) {
            self.record_message(at, uid, message);
        }
    }
}

/// The loops of scheduling attempts in the Events of a cluster. Its time may be ahead of the clock.
pub fn loops_in_events(events: &[Event], now: Timestamp) -> Vec<DetectedLoop> {
    let mut timed: Vec<(Timestamp, &Event)> = events.iter().map(|e| (time_of(e), e)).collect();
    timed.sort_by_key(|(at, _)| *at);
    let mut detector = LoopDetector::default();
    for (at, event) in &timed {
        let object = &event.involved_object;
        if object.kind.as_deref() != Some("Workload") {
            continue;
        }
        let or_empty = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let (namespace, name) = (or_empty(&object.namespace), or_empty(&object.name));
        let about = WorkloadEvent {
            at: *at,
            uid: object.uid.as_deref().unwrap_or_default(),
            reason: event.reason.as_deref().unwrap_or_default(),
            message: event.message.as_deref().unwrap_or_default(),
        };
        detector.record_event(about, &format!("{namespace}/{name}"));
    }
    let latest = timed.last().map(|(at, _)| *at);
    detector.loops(latest.map_or(now, |latest| latest.max(now)))
}

/// The time of the last occurrence.
fn time_of(event: &Event) -> Timestamp {
    let series = event.series.as_ref();
    let last = series
        .and_then(|s| s.last_observed_time.as_ref().map(|t| t.0))
        .or_else(|| event.last_timestamp.as_ref().map(|t| t.0));
    let created = event.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let last = last.max(event.event_time.as_ref().map(|t| t.0));
    last.or(created).unwrap_or_default()
}
