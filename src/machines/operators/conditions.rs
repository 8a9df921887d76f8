//! Conditions of untyped status objects.

use serde_json::{Value, json};

/// A condition to set.
pub(super) struct Condition<'a> {
    /// Its type.
    pub condition_type: &'a str,
    /// Whether its status is True, otherwise False.
    pub status: bool,
    /// Its reason.
    pub reason: &'a str,
    /// Its message.
    pub message: &'a str,
}

/// Sets a condition as `meta.SetStatusCondition`: `lastTransitionTime` changes with the status only.
pub(super) fn set_condition(status: &mut Value, condition: &Condition<'_>, now: &str) {
    let text = if condition.status { "True" } else { "False" };
    let mut all = match status["conditions"].take() {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    let mut new = json!({
        "type": condition.condition_type,
        "status": text,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": now,
    });
    match all
        .iter_mut()
        .find(|c| c["type"] == condition.condition_type)
    {
        Some(old) => {
            if old["status"] == text {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
        None => all.push(new),
    }
    status["conditions"] = Value::Array(all);
}

/// Whether the condition of that type is True.
pub(super) fn is_true(status: &Value, condition_type: &str) -> bool {
    find(status, condition_type).is_some_and(|c| c["status"] == "True")
}

/// The condition of that type.
pub(super) fn find<'a>(status: &'a Value, condition_type: &str) -> Option<&'a Value> {
    let all = status["conditions"].as_array()?;
    all.iter().find(|c| c["type"] == condition_type)
}
