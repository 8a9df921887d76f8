//! [`Event`]: a Kubernetes Event on a Workload.

use jiff::Timestamp;
use serde::Serialize;

use crate::truncate::truncate_event;
use crate::workload::WorkloadKey;
use crate::workload::ordering::creation;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// The message of a PodsReady condition that is False.
pub const PODS_NOT_READY: &str = "Not all pods are ready or succeeded";

/// The type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum EventType {
    /// Normal operation.
    Normal,
    /// A warning.
    Warning,
}

impl EventType {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

/// A Kubernetes Event on a Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The Workload.
    pub workload: WorkloadKey,
    /// The UID of that Workload.
    pub uid: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_: EventType,
    /// Its reason.
    pub reason: String,
    /// Its action; usually equal to the reason.
    pub action: String,
    /// Its message.
    pub message: String,
}

impl Event {
    /// An Event whose action is its reason. The message is truncated to the limit of Events.
    pub fn new(
        workload: WorkloadKey,
        uid: &str,
        type_: EventType,
        reason: impl Into<String>,
        message: String,
    ) -> Self {
        let reason = reason.into();
        Event {
            workload,
            uid: uid.to_owned(),
            type_,
            action: reason.clone(),
            reason,
            message: truncate_event(message),
        }
    }
}

/// The longest duration of Go, in seconds.
const MAX_GO_DURATION_SECONDS: f64 = 9_223_372_036.854_776;

/// The time since a Workload was created or requeued, in seconds.
fn wait_seconds(wl: &Workload, now: Timestamp) -> f64 {
    let requeued = wl.condition(c::REQUEUED);
    let since = requeued.map_or_else(|| creation(wl), |cond| cond.last_transition_time.0);
    now.duration_since(since)
        .as_secs_f64()
        .clamp(-MAX_GO_DURATION_SECONDS, MAX_GO_DURATION_SECONDS)
}

/// A Workload reserved quota, with the attempted flavors that did not fit or that borrow.
pub fn quota_reserved(
    key: WorkloadKey,
    wl: &Workload,
    queue: &str,
    attempts: &str,
    now: Timestamp,
) -> Event {
    let wait = wait_seconds(wl, now);
    let mut message =
        format!("Quota reserved in ClusterQueue {queue}, wait time since queued was {wait:.0}s");
    if !attempts.is_empty() {
        message.push_str("; Flavors considered: ");
        message.push_str(attempts);
    }
    let uid = wl.metadata.uid.as_deref().unwrap_or_default();
    Event::new(
        key,
        uid,
        EventType::Normal,
        c::event::QUOTA_RESERVED,
        message,
    )
}

/// A Workload was admitted together with reserving quota.
pub fn admitted(key: WorkloadKey, uid: &str, queue: &str) -> Event {
    let message = format!("Admitted by ClusterQueue {queue}, wait time since reservation was 0s");
    Event::new(key, uid, EventType::Normal, c::event::ADMITTED, message)
}

/// A Workload was evaluated and not admitted.
pub(crate) fn unadmitted(key: WorkloadKey, uid: &str, reason: &str, message: String) -> Event {
    Event::new(key, uid, EventType::Warning, reason, message)
}

/// A workload slice was replaced.
pub(crate) fn slice_replaced(key: WorkloadKey, uid: &str, message: String) -> Event {
    Event {
        action: "Replaced".to_owned(),
        ..Event::new(
            key,
            uid,
            EventType::Normal,
            c::finished::WORKLOAD_SLICE_REPLACED,
            message,
        )
    }
}
