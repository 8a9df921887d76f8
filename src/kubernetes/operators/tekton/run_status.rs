//! The condition Succeeded of a run, its times and its timeout.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::super::conditions::find;
use super::super::observed::{Observed, parse_timestamp};

/// The condition of the outcome of a run: Unknown until its end.
const SUCCEEDED: &str = "Succeeded";
/// For how long a referenced object may be missing before the run fails: it may be created together
/// with the run.
const RESOLUTION: SignedDuration = SignedDuration::from_secs(2);

/// The outcome of a run; `None` before its end.
pub(super) fn outcome(status: &Value) -> Option<bool> {
    match find(status, SUCCEEDED)?["status"].as_str()? {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

/// The reason of the condition.
pub(super) fn reason(status: &Value) -> &str {
    let condition = find(status, SUCCEEDED);
    condition
        .and_then(|c| c["reason"].as_str())
        .unwrap_or_default()
}

/// Sets the condition of a run that has not finished.
pub(super) fn set_running(run: &Observed<'_>, status: &mut Value, reason: &str, message: &str) {
    run.set_unknown_condition(status, SUCCEEDED, reason, message);
}

/// Sets the condition and the completion time of a run that has finished.
pub(super) fn finish(
    run: &Observed<'_>,
    status: &mut Value,
    succeeded: bool,
    (reason, message): (&str, &str),
) {
    run.set_condition(status, SUCCEEDED, succeeded, reason, message);
    status["completionTime"] = json!(run.timestamp());
}

/// Sets the start time; the first one stays.
pub(super) fn start(run: &Observed<'_>, status: &mut Value) {
    if status["startTime"].is_null() {
        status["startTime"] = json!(run.timestamp());
    }
}

/// The time until the timeout; `None` without one.
pub(super) fn remaining_time(
    run: &Observed<'_>,
    status: &Value,
    timeout: &str,
) -> Option<Duration> {
    let timeout: kueue_lab_duration::Duration = timeout.parse().ok()?;
    if timeout.to_std().is_zero() {
        return None;
    }
    let since = parse_timestamp(&status["startTime"]).unwrap_or(run.now);
    let elapsed = run.now.duration_since(since).unsigned_abs();
    Some(timeout.to_std().saturating_sub(elapsed))
}

/// Whether a referenced object that is missing may still be created.
pub(super) fn may_be_resolved(run: &Observed<'_>) -> bool {
    let created = run.object.metadata.creation_timestamp.as_ref();
    created.is_some_and(|created| run.now.duration_since(created.0) < RESOLUTION)
}
