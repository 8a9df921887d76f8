//! Gaps in the recordings.

use serde_json::Value;

/// Whether the recording lacks the Events of a step: Workloads were created, admitted, preempted or
/// finished, and no Event was recorded. The recorder's watch of Events failed for some minutes, which
/// affects 53 steps of 17 scenarios.
pub(crate) fn lost_events(before: Option<&Value>, step: &Value) -> bool {
    let none = step["events"].as_array().is_none_or(Vec::is_empty);
    let workloads = step["state"]["workloads"].as_object();
    none && workloads.into_iter().flatten().any(|(key, now)| {
        let before = before.map(|step| &step["state"]["workloads"][key.as_str()]);
        let before = before.unwrap_or(&Value::Null);
        let became = |type_: &str| is_true(now, type_) && !is_true(before, type_);
        let admitted = now["admitted"] == true && before["admitted"] != true;
        before.is_null() || admitted || became("Preempted") || became("Finished")
    })
}

fn is_true(workload: &Value, type_: &str) -> bool {
    workload[type_]["status"] == "True"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_workload_without_events_is_a_recording_gap() {
        let state = |admitted: bool, events: Value| json!({"state": {"workloads": {"Job/a": {"admitted": admitted}}}, "events": events});
        let (waits, runs) = (state(false, json!([])), state(true, json!([])));
        assert!(lost_events(None, &waits));
        assert!(lost_events(Some(&waits), &runs));
        assert!(!lost_events(Some(&waits), &waits));
        assert!(!lost_events(Some(&waits), &state(true, json!([{}]))));
    }
}
