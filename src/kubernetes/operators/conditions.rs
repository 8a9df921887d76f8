//! Conditions of untyped status objects.

use serde_json::{Value, json};

use super::observed::Observed;

impl Observed<'_> {
    /// Sets a condition of the status to True or False as `meta.SetStatusCondition`:
    /// `lastTransitionTime` changes with the status of the condition only.
    pub(super) fn set_condition(
        &self,
        status: &mut Value,
        condition_type: &str,
        is: bool,
        reason: &str,
        message: &str,
    ) {
        let value = if is { "True" } else { "False" };
        self.set_condition_status(status, condition_type, value, reason, message);
    }

    /// Sets a condition of the status to Unknown.
    pub(super) fn set_unknown_condition(
        &self,
        status: &mut Value,
        condition_type: &str,
        reason: &str,
        message: &str,
    ) {
        self.set_condition_status(status, condition_type, "Unknown", reason, message);
    }

    fn set_condition_status(
        &self,
        status: &mut Value,
        condition_type: &str,
        value: &str,
        reason: &str,
        message: &str,
    ) {
        set_condition(
            status,
            json!({
                "type": condition_type,
                "status": value,
                "reason": reason,
                "message": message,
                "lastTransitionTime": self.timestamp(),
            }),
        );
    }
}

fn set_condition(status: &mut Value, mut new: Value) {
    let mut all = match status["conditions"].take() {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    match all.iter_mut().find(|c| c["type"] == new["type"]) {
        Some(old) => {
            if old["status"] == new["status"] {
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
