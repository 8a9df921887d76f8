//! The preset of the manager as worker clusters apply it: without MultiKueue, which would dispatch the
//! Workloads once more.

use std::collections::BTreeSet;

use kueue_lab_api::constants as c;
use kueue_lab_json::ValueExt;
use kueue_lab_presets::Manifest;
use serde_json::Value;

use super::manager_objects::NAME;

/// Removes the objects of MultiKueue, and its AdmissionChecks from ClusterQueues.
pub(crate) fn without_multikueue(manifests: &mut Vec<Manifest>) {
    let checks = manifests.iter().filter(|m| is_multikueue_check(&m.object));
    let checks: BTreeSet<String> = checks
        .map(|manifest| manifest.object.text("/metadata/name").to_owned())
        .chain([NAME.to_owned()])
        .collect();
    manifests.retain(|manifest| {
        let kind = manifest.object.text("/kind");
        !is_multikueue_check(&manifest.object)
            && !matches!(kind, "MultiKueueCluster" | "MultiKueueConfig")
    });
    for manifest in manifests {
        if manifest.object.text("/kind") == "ClusterQueue" {
            remove_checks(&mut manifest.object, &checks);
        }
    }
}

fn is_multikueue_check(object: &Value) -> bool {
    object.text("/kind") == "AdmissionCheck"
        && object.text("/spec/controllerName") == c::MULTI_KUEUE_CONTROLLER
}

fn remove_checks(queue: &mut Value, checks: &BTreeSet<String>) {
    let Some(spec) = queue.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let strategy = spec.get_mut("admissionChecksStrategy");
    let rules = strategy.and_then(|strategy| strategy.get_mut("admissionChecks"));
    let Some(rules) = rules.and_then(Value::as_array_mut) else {
        return;
    };
    rules.retain(|rule| !checks.contains(rule.text("/name")));
    if rules.is_empty() {
        spec.remove("admissionChecksStrategy");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn other_checks_of_a_queue_stay() {
        let mut queue = json!({"spec": {"admissionChecksStrategy": {"admissionChecks": [
            {"name": NAME}, {"name": "other"},
        ]}}});
        let checks = [NAME.to_owned()].into();
        remove_checks(&mut queue, &checks);
        let rules = &queue["spec"]["admissionChecksStrategy"]["admissionChecks"];
        assert_eq!(*rules, json!([{"name": "other"}]));
        let checks = ["other".to_owned()].into();
        remove_checks(&mut queue, &checks);
        assert_eq!(queue, json!({"spec": {}}));
    }
}
