//! What the runtime class of a pod adds to it: overhead and where it may run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Write;
use crate::kinds::value::{Fill, Look};
use crate::status::ApiError;

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn class(write: &Write<'_>, pod: &Value) -> Result<Option<Arc<Value>>, ApiError> {
    let Some(name) = pod.at("/spec/runtimeClassName").as_str() else {
        return Ok(None);
    };
    let found = write.reader.get("node.k8s.io", "runtimeclasses", "", name);
    found
        .map(Some)
        .ok_or_else(|| write.forbid(format!("pod rejected: RuntimeClass {name:?} not found")))
}

/// Takes overhead and scheduling over from the class.
pub(super) fn fill(write: &Write<'_>, pod: &mut Value) -> Result<(), ApiError> {
    let Some(class) = class(write, pod)? else {
        return Ok(());
    };
    let spec = pod.child("spec");
    if class.has("/overhead") {
        let fixed = class.at("/overhead/podFixed");
        if spec.has("/overhead") && spec.at("/overhead") != fixed {
            return Err(write.forbid(MISMATCH));
        }
        spec.put("overhead", fixed.is_object().then(|| fixed.clone()));
    }
    for (key, value) in class.entries("/scheduling/nodeSelector") {
        let selector = spec.child("nodeSelector");
        match selector.get(key) {
            Some(own) if own != value => {
                let why = format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                    value.text(""),
                    own.text("")
                );
                return Err(write.forbid(why));
            }
            _ => selector[key] = value.clone(),
        }
    }
    for toleration in class.list("/scheduling/tolerations") {
        if spec.list("/tolerations").contains(toleration) {
            continue;
        }
        spec.or_set("tolerations", json!([]));
        if let Some(Value::Array(all)) = spec.get_mut("tolerations") {
            all.push(toleration.clone());
        }
    }
    Ok(())
}

/// The overhead of a pod is that of its class and nothing else.
pub(super) fn check(write: &Write<'_>, pod: &Value) -> Result<(), ApiError> {
    let class = class(write, pod)?;
    let own = pod.at("/spec/overhead");
    match class.filter(|c| c.has("/overhead")) {
        Some(class) if class.at("/overhead/podFixed") != own => Err(write.forbid(MISMATCH)),
        None if !own.is_null() => Err(write.forbid(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Operation;
    use crate::policy::fake::{Objects, request, with};

    #[test]
    fn a_class_with_overhead_and_a_place() {
        let class = json!({"metadata": {"name": "vm"}, "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm"}]}});
        let objects = Objects(vec![("node.k8s.io", "runtimeclasses", class)]);
        let create = request("", "pods", Operation::Create);
        let filled = |spec: Value| {
            let mut pod = json!({"spec": spec});
            with(&objects, &create, |w| {
                fill(w, &mut pod)?;
                check(w, &pod)
            })
            .map_err(|e| e.message)?;
            Ok::<_, String>(pod["spec"].take())
        };
        let spec = filled(json!({"runtimeClassName": "vm"})).expect("admitted");
        assert_eq!(spec["overhead"], json!({"cpu": "250m"}));
        assert_eq!(spec["nodeSelector"], json!({"vm": "yes"}));
        assert_eq!(spec["tolerations"], json!([{"key": "vm"}]));
        let missing = filled(json!({"runtimeClassName": "x"})).expect_err("refused");
        assert!(
            missing.ends_with(r#"pod rejected: RuntimeClass "x" not found"#),
            "{missing}"
        );
        let clash = filled(json!({"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}}));
        assert!(
            clash
                .expect_err("refused")
                .contains("pod.spec.nodeSelector[vm] = no")
        );
        assert!(filled(json!({"overhead": {"cpu": "1"}})).is_err());
    }
}
