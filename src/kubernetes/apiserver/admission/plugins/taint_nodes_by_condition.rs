//! TaintNodesByCondition: new nodes are tainted as not ready.

use serde_json::{Value, json};

use kueue_lab_json::{ValueExt, ValueMutExt};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Adds the not-ready taint to a new node. The node lifecycle controller removes it.
pub(crate) fn add_not_ready_taint(node: &mut Value) {
    let is_ours = |t: &Value| t.text("/key") == NOT_READY && t.text("/effect") == "NoSchedule";
    let spec = node.object_mut("spec");
    if spec.list("/taints").iter().any(is_ours) {
        return;
    }
    spec.set_default("taints", json!([]));
    if let Some(Value::Array(taints)) = spec.get_mut("taints") {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_taint_is_added_once() {
        let mut node = json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}});
        add_not_ready_taint(&mut node);
        add_not_ready_taint(&mut node);
        assert_eq!(node.list("/spec/taints").len(), 2);
        assert_eq!(node.text("/spec/taints/1/key"), NOT_READY);
    }
}
