//! The defaulting of upstream's mutating webhooks as plain functions. The API server applies the
//! defaults of the CRDs; [`super::load`] does so without a server.

use k8s_openapi::Resource;
use serde_json::{Value, json};

use super::constants::RESOURCE_IN_USE_FINALIZER;
use super::go_encoding::encode_as_go;
use super::v1beta2::{ClusterQueue, ResourceFlavor, Workload};
use crate::feature_gates::{Feature, FeatureGates};

/// Sets defaults on a new object of any kind, given as v1beta2 JSON.
pub fn create(object: &mut Value, gates: &FeatureGates) {
    match object["kind"].as_str() {
        Some(ClusterQueue::KIND | ResourceFlavor::KIND) => {
            let is_changed = add_finalizer(object);
            // Without a change there is no patch.
            if is_changed {
                encode_as_go(object);
            }
        }
        Some(Workload::KIND) if !gates.enabled(Feature::PartialAdmission) => {
            let sets = object
                .pointer_mut("/spec/podSets")
                .and_then(Value::as_array_mut);
            for set in sets.into_iter().flatten().filter_map(Value::as_object_mut) {
                set.remove("minCount");
            }
        }
        _ => {}
    }
}

/// Adds the `resource-in-use` finalizer; returns whether it was missing.
fn add_finalizer(object: &mut Value) -> bool {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return false;
    };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(list) = finalizers
        && !list.iter().any(|f| f == RESOURCE_IN_USE_FINALIZER)
    {
        list.push(json!(RESOURCE_IN_USE_FINALIZER));
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_and_flavors_get_their_finalizer_once() {
        let gates = FeatureGates::default();
        for kind in ["ClusterQueue", "ResourceFlavor"] {
            let mut object =
                json!({"kind": kind, "metadata": {"name": "x", "finalizers": ["a/b"]}});
            create(&mut object, &gates);
            let once = object.clone();
            assert_eq!(
                object["metadata"]["finalizers"],
                json!(["a/b", "kueue.x-k8s.io/resource-in-use"])
            );
            create(&mut object, &gates);
            assert_eq!(object, once);
        }
        let mut queue = json!({"kind": "LocalQueue", "metadata": {"name": "x"}});
        create(&mut queue, &gates);
        assert_eq!(queue["metadata"], json!({"name": "x"}));
    }

    #[test]
    fn min_counts_are_dropped_without_partial_admission() {
        let workload = json!({"kind": "Workload", "spec": {"podSets": [{"minCount": 2}, 7]}});
        let mut same = workload.clone();
        create(&mut same, &FeatureGates::default());
        assert_eq!(same, workload);
        let mut object = workload;
        create(
            &mut object,
            &FeatureGates::default().with(Feature::PartialAdmission, false),
        );
        assert_eq!(object["spec"]["podSets"], json!([{}, 7]));
    }
}
