//! What the control plane of the recordings did otherwise than Kubernetes.

use serde_json::Value;

/// The ConfigMap that OpenShift's API server adds to the token volume of every pod. The API server of the
/// recordings was built by OpenShift.
const OPENSHIFT_CONFIG_MAP: &str = "openshift-service-ca.crt";

/// Corrects recorded objects.
pub(crate) fn correct(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(sources)) = fields.get_mut("sources") {
                sources.retain(|source| source["configMap"]["name"] != OPENSHIFT_CONFIG_MAP);
            }
            if fields.get("phase").is_some_and(|phase| phase == "Failed") {
                correct_stopped_pod(fields.get_mut("conditions"));
            }
            fields.values_mut().for_each(correct);
        }
        Value::Array(items) => items.iter_mut().for_each(correct),
        _ => {}
    }
}

/// The kubelet stand-in of the recordings gave failed pods that were deleted the reason `PodCompleted`; a
/// kubelet gives them `PodFailed`.
fn correct_stopped_pod(conditions: Option<&mut Value>) {
    let Some(Value::Array(conditions)) = conditions else {
        return;
    };
    if conditions.iter().any(|c| c["type"] == "TerminationTarget") {
        let completed = |c: &&mut Value| c["reason"] == "PodCompleted";
        let conditions = conditions.iter_mut().filter(completed);
        conditions.for_each(|c| c["reason"] = "PodFailed".into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn foreign_sources_and_reasons_are_corrected() {
        let source = |name: &str| json!({"configMap": {"name": name}});
        let mut volume =
            json!({"sources": [source("kube-root-ca.crt"), source(OPENSHIFT_CONFIG_MAP)]});
        correct(&mut volume);
        assert_eq!(volume["sources"], json!([source("kube-root-ca.crt")]));
        let ready = json!({"type": "Ready", "reason": "PodCompleted"});
        let target = json!({"type": "TerminationTarget"});
        let mut stopped = json!({"phase": "Failed", "conditions": [ready.clone(), target]});
        correct(&mut stopped);
        assert_eq!(stopped["conditions"][0]["reason"], "PodFailed");
        let patched = json!({"phase": "Failed", "conditions": [ready]});
        let mut same = patched.clone();
        correct(&mut same);
        assert_eq!(same, patched);
    }
}
