//! DefaultTolerationSeconds: tolerates not-ready and unreachable nodes for 300 s.

use serde_json::{Value, json};

use kueue_lab_json::{ValueExt, ValueMutExt};

/// The default `tolerationSeconds` for nodes that are not ready or unreachable.
const DEFAULT_TOLERATION_SECONDS: u32 = 300;

/// Adds the default `NoExecute` tolerations unless the pod already has matching ones.
pub(crate) fn add_default_tolerations(pod: &mut Value) {
    let spec = pod.object_mut("spec");
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let covers = |t: &Value| {
            matches!(t.text("/key"), k if k == key || k.is_empty())
                && matches!(t.text("/effect"), "" | "NoExecute")
        };
        if spec.list("/tolerations").iter().any(covers) {
            continue;
        }
        spec.set_default("tolerations", json!([]));
        if let Some(Value::Array(tolerations)) = spec.get_mut("tolerations") {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": DEFAULT_TOLERATION_SECONDS,
            }));
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn default_tolerations() {
        let mut pod = json!({"spec": {"tolerations": [
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}]}});
        add_default_tolerations(&mut pod);
        let keys: Vec<&str> = pod
            .list("/spec/tolerations")
            .iter()
            .map(|t| t.text("/key"))
            .collect();
        assert_eq!(
            keys,
            [
                "node.kubernetes.io/unreachable",
                "node.kubernetes.io/not-ready"
            ]
        );
        let mut all = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        add_default_tolerations(&mut all);
        assert_eq!(all.list("/spec/tolerations").len(), 1);
    }
}
