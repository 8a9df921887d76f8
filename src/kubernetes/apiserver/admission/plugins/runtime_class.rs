//! RuntimeClass: sets overhead, node selector and tolerations of pods.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::PluginContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::{ValueExt, ValueMutExt};

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn class(write: &PluginContext<'_>, pod: &Value) -> Result<Option<Arc<Value>>, ApiError> {
    let Some(name) = pod.at("/spec/runtimeClassName").as_str() else {
        return Ok(None);
    };
    let found = write.reader.get("node.k8s.io", "runtimeclasses", "", name);
    found
        .map(Some)
        .ok_or_else(|| write.forbidden(format!("pod rejected: RuntimeClass {name:?} not found")))
}

/// Applies overhead and scheduling of the runtime class to a pod.
pub(crate) fn admit(write: &PluginContext<'_>, pod: &mut Value) -> Result<(), ApiError> {
    let Some(class) = class(write, pod)? else {
        return Ok(());
    };
    let spec = pod.object_mut("spec");
    if class.has("/overhead") {
        let fixed = class.at("/overhead/podFixed");
        if spec.has("/overhead") && spec.at("/overhead") != fixed {
            return Err(write.forbidden(MISMATCH));
        }
        spec.set_or_remove("overhead", fixed.is_object().then(|| fixed.clone()));
    }
    for (key, value) in class.entries("/scheduling/nodeSelector") {
        let selector = spec.object_mut("nodeSelector");
        match selector.get(key) {
            Some(own) if own != value => {
                let reason = format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                    value.text(""),
                    own.text("")
                );
                return Err(write.forbidden(reason));
            }
            _ => selector[key] = value.clone(),
        }
    }
    let mut known: HashSet<Value> = spec.list("/tolerations").iter().cloned().collect();
    for toleration in class.list("/scheduling/tolerations") {
        if !known.insert(toleration.clone()) {
            continue;
        }
        spec.set_default("tolerations", json!([]));
        if let Some(Value::Array(all)) = spec.get_mut("tolerations") {
            all.push(toleration.clone());
        }
    }
    Ok(())
}

/// Requires the overhead of a pod to equal that of its runtime class.
pub(crate) fn validate(write: &PluginContext<'_>, pod: &Value) -> Result<(), ApiError> {
    let class = class(write, pod)?;
    let own = pod.at("/spec/overhead");
    match class.filter(|c| c.has("/overhead")) {
        Some(class) if class.at("/overhead/podFixed") != own => Err(write.forbidden(MISMATCH)),
        None if !own.is_null() => Err(write.forbidden(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::Operation;

    #[test]
    fn overhead_and_scheduling_are_set() {
        let class = json!({"metadata": {"name": "vm"}, "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm"}]}});
        let objects = Objects(vec![("node.k8s.io", "runtimeclasses", class)]);
        let create = request("", "pods", Operation::Create);
        let filled = |spec: Value| {
            let mut pod = json!({"spec": spec});
            with(&objects, &create, |w| {
                admit(w, &mut pod)?;
                validate(w, &pod)
            })
            .map_err(|e| e.message)?;
            Ok::<_, String>(pod["spec"].take())
        };
        let spec = filled(json!({"runtimeClassName": "vm"})).expect("admitted");
        assert_eq!(spec["overhead"], json!({"cpu": "250m"}));
        assert_eq!(spec["nodeSelector"], json!({"vm": "yes"}));
        assert_eq!(spec["tolerations"], json!([{"key": "vm"}]));
        let missing = filled(json!({"runtimeClassName": "x"})).expect_err("rejected");
        assert!(
            missing.ends_with(r#"pod rejected: RuntimeClass "x" not found"#),
            "{missing}"
        );
        let clash = filled(json!({"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}}));
        assert!(
            clash
                .expect_err("rejected")
                .contains("pod.spec.nodeSelector[vm] = no")
        );
        assert!(filled(json!({"overhead": {"cpu": "1"}})).is_err());
    }
}
