//! [`manifest_of_cluster`]: an object of a cluster as a manifest.

use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::v1beta2::API_VERSION;
use serde_json::{Value, json};

use super::{Manifest, SourceFile, parse};

/// An object of a cluster as the manifest that it was applied from, if it is valid.
pub(super) fn manifest_of_cluster(
    kind: &str,
    object: &Value,
    gates: &FeatureGates,
) -> Option<Manifest> {
    let metadata = &object["metadata"];
    let object = json!({
        "apiVersion": API_VERSION, "kind": kind,
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": object["spec"], "value": object["value"],
    });
    let Value::Object(mut object) = object else {
        return None;
    };
    object.retain(|_, value| !value.is_null());
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, value| !value.is_null());
    }
    let file = SourceFile {
        name: String::new(),
        bytes: Value::Object(object).to_string().into_bytes(),
    };
    parse(&[file], gates).manifests.pop()
}
