//! Suspend and resume of a batch Job that a job of another kind owns.

use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};

use super::child_objects::items;
use kueue_lab_codec::Codec;

/// The change that suspends a Job.
pub(super) fn suspend() -> Value {
    json!({"spec": {"suspend": true}})
}

/// The change that resumes a Job. The scheduling directives of its template are those of
/// `template`, added to its own.
pub(super) fn resume(job: &Job, template: &Value) -> Value {
    let current = job.to_value().unwrap_or_default();
    let current = &current["spec"]["template"]["spec"];
    let merged = |field: &str| -> Vec<Value> {
        let mut all = items(&current[field]).to_vec();
        let new = items(&template["spec"][field]).iter();
        let missing: Vec<Value> = new.filter(|item| !all.contains(item)).cloned().collect();
        all.extend(missing);
        all
    };
    let mut metadata = json!({});
    for field in ["labels", "annotations"] {
        if template["metadata"][field].is_object() {
            metadata[field] = template["metadata"][field].clone();
        }
    }
    let mut pod = json!({});
    if template["spec"]["nodeSelector"].is_object() {
        pod["nodeSelector"] = template["spec"]["nodeSelector"].clone();
    }
    for field in ["tolerations", "schedulingGates"] {
        let all = merged(field);
        if !all.is_empty() {
            pod[field] = json!(all);
        }
    }
    json!({"spec": {"suspend": false, "template": {"metadata": metadata, "spec": pod}}})
}
