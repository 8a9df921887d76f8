//! Conditions of a Kubeflow JobStatus: the latest change is the last one of the list.

use serde_json::{Value, json};

use super::super::child_objects::items;
use super::super::conditions::is_true;
use super::super::observed::Observed;

/// The conditions of one job.
pub(super) struct JobConditions<'a> {
    /// The job.
    pub job: &'a Observed<'a>,
    /// Its kind, the prefix of reasons.
    pub kind: &'static str,
    /// How messages name the job.
    pub subject: String,
}

impl JobConditions<'_> {
    /// Sets a condition to True, and those that it excludes to False. False if it was set before.
    pub(super) fn set(&self, status: &mut Value, condition_type: &str, message: &str) -> bool {
        let message = format!("{} {} {message}", self.kind, self.subject);
        let reason = format!("{}{condition_type}", self.kind);
        if is_true(status, condition_type) {
            return false;
        }
        match condition_type {
            "Running" => self.remove(status, "Restarting"),
            "Restarting" => self.remove(status, "Running"),
            "Succeeded" | "Failed" | "Suspended" if is_true(status, "Running") => {
                self.write(status, "Running", "False", &reason, &message);
            }
            _ => {}
        }
        self.write(status, condition_type, "True", &reason, &message);
        true
    }

    /// Sets Suspended to False after a suspend.
    pub(super) fn resumed(&self, status: &mut Value) {
        if is_true(status, "Suspended") {
            let message = format!("{} {} is resumed.", self.kind, self.subject);
            let reason = format!("{}Resumed", self.kind);
            self.write(status, "Suspended", "False", &reason, &message);
        }
    }

    fn remove(&self, status: &mut Value, condition_type: &str) {
        if let Some(all) = status["conditions"].as_array_mut() {
            all.retain(|c| c["type"] != condition_type);
        }
    }

    fn write(
        &self,
        status: &mut Value,
        condition_type: &str,
        is: &str,
        reason: &str,
        message: &str,
    ) {
        let now = self.job.timestamp();
        let mut all = items(&status["conditions"]).to_vec();
        all.retain(|c| c["type"] != condition_type);
        all.push(json!({
            "type": condition_type,
            "status": is,
            "reason": reason,
            "message": message,
            "lastTransitionTime": now,
            "lastUpdateTime": now,
        }));
        status["conditions"] = Value::Array(all);
    }
}

/// Whether the job is finished.
pub(super) fn is_finished(status: &Value) -> bool {
    is_true(status, "Succeeded") || is_true(status, "Failed")
}
