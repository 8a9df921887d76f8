//! The bundle of a recorded moment.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kueue_lab_api::config::DEFAULT_NAMESPACE;
use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::bundle::Bundle;
use super::import_cluster::{is_wanted_pod, prepared};
use super::imported_object::{is_lab_node, keep_running, prepare_node};

/// The bundle of the objects of a recorded cluster at `time`, from which a lab starts in this state. `cluster` is
/// its name in the bundle.
pub fn recorded_bundle(
    cluster: &str,
    time: Timestamp,
    mut objects: Vec<Value>,
    notes: Vec<String>,
) -> Bundle {
    let lab_nodes: BTreeSet<String> = objects
        .iter()
        .filter(|object| object.text("/kind") == "Node" && is_lab_node(object))
        .map(|node| node.name().to_owned())
        .collect();
    let jobs: BTreeSet<String> = objects
        .iter()
        .filter(|object| object.text("/kind") != "Pod")
        .map(|object| object.text("/metadata/uid").to_owned())
        .collect();
    let jobs: BTreeSet<&str> = jobs.iter().map(String::as_str).collect();
    objects.retain(|object| match object.text("/kind") {
        "Pod" => is_wanted_pod(object, &jobs),
        // Those of Kueue's own Deployment, which the lab creates itself.
        "Deployment" | "ReplicaSet" => object.text("/metadata/namespace") != DEFAULT_NAMESPACE,
        _ => true,
    });
    for object in &mut objects {
        match object.text("/kind") {
            "Node" => prepare_node(object),
            "Pod" if !lab_nodes.contains(object.text("/spec/nodeName")) => keep_running(object),
            _ => {}
        }
    }
    Bundle {
        cluster: cluster.to_owned(),
        time,
        notes,
        objects: prepared(objects),
    }
}
