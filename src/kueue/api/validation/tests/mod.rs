//! The errors of the validation, with their messages.

mod queues;
mod updates;
mod workloads;

use serde_json::{Value, json};

use super::*;
use crate::feature_gates::FeatureGates;

/// An object of a kind with the given members.
pub(super) fn object(kind: &str, body: Value) -> Value {
    let mut object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "x"},
    });
    for (name, member) in body.as_object().into_iter().flatten() {
        object[name] = member.clone();
    }
    object
}

/// The errors of a new object, as text.
pub(super) fn errors(kind: &str, body: Value) -> Vec<String> {
    errors_with(kind, body, &FeatureGates::default())
}

/// The errors of a new object with other feature gates, as text.
pub(super) fn errors_with(kind: &str, body: Value, gates: &FeatureGates) -> Vec<String> {
    let errors = create(&object(kind, body), gates).unwrap();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn kinds_without_rules_pass_and_malformed_objects_do_not() {
    assert_eq!(errors("LocalQueue", json!({"spec": 3})), [""; 0]);
    let gates = FeatureGates::default();
    assert!(create(&object("ClusterQueue", json!({"spec": 3})), &gates).is_err());
    let good = object("ClusterQueue", json!({}));
    assert!(update(&good, &object("ClusterQueue", json!({"spec": "x"})), &gates).is_err());
}

#[test]
fn denials_name_the_webhook() {
    assert_eq!(webhook_name("Workload"), Some("vworkload.kb.io"));
    assert_eq!(webhook_name("LocalQueue"), None);
}
