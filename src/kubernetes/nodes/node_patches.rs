//! The patches of a virtual node that differs from its pool.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::desired_nodes::PoolNode;
use super::virtual_node::{self, FROM_POOL_ANNOTATION, is_managed};

/// The patch of labels and taints; those not set by the pool stay. A node that another client created gets the
/// missing fields of the spec that `registered` has.
pub(super) fn metadata_patch(
    pool_node: &PoolNode,
    node: &Node,
    registered: impl Fn() -> Node,
) -> Option<Value> {
    let owned = virtual_node::from_pool_annotation(&pool_node.pool, pool_node.index);
    let before = node
        .annotations()
        .get(FROM_POOL_ANNOTATION)
        .map(String::as_str)
        .unwrap_or_default();
    let (old_labels, old_taints) = before.split_once(';').unwrap_or_default();
    let labels = virtual_node::labels(&pool_node.pool, pool_node.index);
    let mut changes = serde_json::Map::new();
    for (key, value) in &labels {
        if node.labels().get(key) != Some(value) {
            changes.insert(key.clone(), value.clone().into());
        }
    }
    for key in old_labels.split(',').filter(|k| !k.is_empty()) {
        if !labels.contains_key(key) && node.labels().contains_key(key) {
            changes.insert(key.to_string(), Value::Null);
        }
    }
    let taints = node.spec.as_ref().and_then(|s| s.taints.clone());
    let taints = taints.unwrap_or_default();
    let old: BTreeSet<&str> = old_taints.split(',').collect();
    let mut new = pool_node.pool.taints.clone();
    for taint in &taints {
        let id = format!("{}:{}", taint.key, taint.effect);
        let wanted = pool_node.pool.taints.iter();
        let mut same = wanted.filter(|t| t.key == taint.key && t.effect == taint.effect);
        if !old.contains(id.as_str()) && same.next().is_none() {
            new.push(taint.clone());
        }
    }
    let same_taints = new.len() == taints.len() && new.iter().all(|t| taints.contains(t));
    if changes.is_empty() && same_taints && before == owned {
        return None;
    }
    let mut patch =
        json!({"metadata": {"labels": changes, "annotations": {FROM_POOL_ANNOTATION: owned}}});
    if !same_taints {
        patch["spec"] = json!({"taints": new});
        // Optimistic lock: taints of others must not be lost.
        patch["metadata"]["resourceVersion"] = json!(node.resource_version());
    }
    if !is_managed(node) {
        let (old, new) = (node.spec.as_ref(), registered().spec.unwrap_or_default());
        if old.is_none_or(|old| old.pod_cidr.is_none()) {
            patch["spec"]["podCIDR"] = json!(new.pod_cidr);
            patch["spec"]["podCIDRs"] = json!(new.pod_cidrs);
        }
        if old.is_none_or(|old| old.provider_id.is_none()) {
            patch["spec"]["providerID"] = json!(new.provider_id);
        }
    }
    Some(patch)
}

/// The patch of the status: capacity, kubelet address, and the conditions of a node that is not
/// Ready. A node without addresses gets the whole status that `registered` has.
pub(super) fn status_patch(
    pool_node: &PoolNode,
    node: &Node,
    now: Timestamp,
    reached: Option<(String, i32)>,
    registered: impl Fn() -> Node,
) -> Option<Value> {
    let status = node.status.clone().unwrap_or_default();
    if status.addresses.as_ref().is_none_or(Vec::is_empty) {
        return Some(json!({"status": registered().status}));
    }
    let capacity = virtual_node::capacity(&pool_node.pool);
    let ready = status
        .conditions
        .iter()
        .flatten()
        .any(|c| c.type_ == "Ready" && c.status == "True");
    let mut patch = serde_json::Map::new();
    let images = &pool_node.pool.images;
    if status.images.as_ref().unwrap_or(&Vec::new()) != images {
        // Not merged by the names of images.
        patch.insert("images".into(), json!(images));
    }
    let read = kueue_lab_component_helpers::resource_amounts::ResourceAmounts::of;
    let old = [status.capacity, status.allocatable].map(Option::unwrap_or_default);
    if old.iter().any(|old| read(old) != read(&capacity)) {
        let mut amounts = json!(capacity);
        for gone in old.iter().flat_map(|o| o.keys()) {
            if !capacity.contains_key(gone) {
                amounts[gone.as_str()] = Value::Null;
            }
        }
        patch.insert("capacity".into(), amounts.clone());
        patch.insert("allocatable".into(), amounts);
    }
    if let Some((host, port)) = reached {
        let is_right = |a: &NodeAddress| a.type_ == "Hostname" && a.address == host;
        if !status.addresses.iter().flatten().any(is_right) {
            let address = json!([{"type": "Hostname", "address": host}]);
            patch.insert("addresses".into(), address);
        }
        let endpoint = status.daemon_endpoints.and_then(|e| e.kubelet_endpoint);
        if endpoint.map(|e| e.port) != Some(port) {
            let endpoint = json!({"kubeletEndpoint": {"Port": port}});
            patch.insert("daemonEndpoints".into(), endpoint);
        }
    }
    if !ready {
        patch.insert(
            "conditions".into(),
            json!(virtual_node::conditions(now, now)),
        );
    }
    (!patch.is_empty()).then(|| json!({"status": patch}))
}
