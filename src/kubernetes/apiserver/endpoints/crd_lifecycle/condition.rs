//! Conditions of CustomResourceDefinitions.

use serde_json::{Value, json};

/// One condition of a CustomResourceDefinition.
pub(super) struct Condition {
    pub(super) condition_type: &'static str,
    pub(super) status: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Condition {
    /// Sets the condition; `lastTransitionTime` changes only when the status changes.
    pub(super) fn set(&self, status: &mut Value, now: &Value) {
        if !status.is_object() {
            *status = json!({});
        }
        let text = if self.status { "True" } else { "False" };
        let mut condition = json!({
            "type": self.condition_type,
            "status": text,
            "lastTransitionTime": now,
            "reason": self.reason,
            "message": self.message,
        });
        if !status["conditions"].is_array() {
            status["conditions"] = json!([]);
        }
        let Some(all) = status["conditions"].as_array_mut() else {
            return;
        };
        match all.iter_mut().find(|c| c["type"] == self.condition_type) {
            Some(present) => {
                if present["status"] == text {
                    condition["lastTransitionTime"] = present["lastTransitionTime"].clone();
                }
                *present = condition;
            }
            None => all.push(condition),
        }
    }
}
