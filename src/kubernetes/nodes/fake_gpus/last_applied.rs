//! The fake resources, labels and taints applied to a real node, recorded in an annotation so that
//! any later run can revert exactly those.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};

use crate::RealNodes;

/// The annotation.
pub(super) const ANNOTATION: &str = "kueue-lab.dev/given";

/// The resources, labels and taints that the lab has applied to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LastApplied {
    /// Names of resources.
    pub(super) resources: BTreeSet<String>,
    /// Keys of labels.
    pub(super) labels: BTreeSet<String>,
    /// Taints as `key:effect`.
    pub(super) taints: BTreeSet<String>,
}

/// The identity of a taint: key and effect.
pub(super) fn id(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect)
}

impl LastApplied {
    /// Reads a node's annotation. An invalid one counts as empty but present.
    pub(super) fn of(node: &Node) -> Option<Self> {
        let text = node.annotations().get(ANNOTATION)?;
        Some(serde_json::from_str(text).unwrap_or_default())
    }

    /// The value of the annotation.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The union of both.
    pub(super) fn union(&self, other: &Self) -> Self {
        let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.union(b).cloned().collect();
        Self {
            resources: both(&self.resources, &other.resources),
            labels: both(&self.labels, &other.labels),
            taints: both(&self.taints, &other.taints),
        }
    }

    /// The part of `wanted` that can be applied without overwriting existing fields, and the
    /// conflicts as messages. What the lab applied before is no conflict.
    pub(super) fn resolve_conflicts(&self, node: &Node, wanted: &RealNodes) -> (Self, Vec<String>) {
        let mut granted = Self::default();
        let mut kept = Vec::new();
        let capacity = node.status.iter().flat_map(|s| s.capacity.iter().flatten());
        let has: BTreeSet<&str> = capacity
            .filter(|(_, amount)| amount.0 != "0")
            .map(|(name, _)| name.as_str())
            .collect();
        for name in wanted.resources.keys() {
            if self.resources.contains(name) || !has.contains(name.as_str()) {
                granted.resources.insert(name.clone());
            } else {
                kept.push(format!("it has real {name}"));
            }
        }
        for (key, value) in &wanted.labels {
            match node.labels().get(key) {
                Some(_) if self.labels.contains(key) => drop(granted.labels.insert(key.clone())),
                None => drop(granted.labels.insert(key.clone())),
                Some(existing) if existing == value => {}
                Some(existing) => kept.push(format!("its label {key} is already {existing:?}")),
            }
        }
        let taints = node.spec.iter().flat_map(|s| s.taints.iter().flatten());
        let existing: BTreeSet<String> = taints.map(id).collect();
        for taint in wanted.taints.iter().map(id) {
            if self.taints.contains(&taint) || !existing.contains(&taint) {
                granted.taints.insert(taint);
            }
        }
        (granted, kept)
    }

    /// A node's taints after those recorded here are replaced by the granted ones of `wanted`.
    pub(super) fn merge_taints(&self, node: &Node, granted: &Self, wanted: &[Taint]) -> Vec<Taint> {
        let existing = node.spec.as_ref().and_then(|s| s.taints.clone());
        let mut taints: Vec<Taint> = existing.unwrap_or_default();
        taints.retain(|t| !self.taints.contains(&id(t)) || granted.taints.contains(&id(t)));
        for taint in wanted.iter().filter(|t| granted.taints.contains(&id(t))) {
            match taints.iter_mut().find(|t| id(t) == id(taint)) {
                Some(existing) => existing.value.clone_from(&taint.value),
                None => taints.push(taint.clone()),
            }
        }
        taints
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NodePools;

    fn wanted() -> RealNodes {
        let text = "realNodes:\n- name: w\n  selector: {}\n  resources: {nvidia.com/gpu: 8}\n  labels: {a: b}\n  taints: [{key: gpu, effect: NoSchedule}]\n";
        NodePools::parse(text).unwrap().real.remove(0)
    }

    fn node(labels: serde_json::Value, gpus: &str, taints: serde_json::Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints},
            "status": {"capacity": {"nvidia.com/gpu": gpus}},
        }))
        .unwrap()
    }

    #[test]
    fn resources_labels_and_taints_of_others_are_kept() {
        let foreign = json!([{"key": "gpu", "effect": "NoSchedule", "value": "theirs"}]);
        let theirs = node(json!({"a": "c"}), "4", foreign.clone());
        let (granted, kept) = LastApplied::default().resolve_conflicts(&theirs, &wanted());
        assert_eq!(granted, LastApplied::default());
        assert_eq!(
            kept,
            [
                "it has real nvidia.com/gpu",
                r#"its label a is already "c""#
            ]
        );
        let taints = granted.merge_taints(&theirs, &granted, &wanted().taints);
        assert_eq!(json!(taints), foreign);
    }

    #[test]
    fn applied_resources_are_reapplied_and_removed() {
        let bare = node(json!({}), "0", json!([{"key": "x", "effect": "NoExecute"}]));
        let (granted, kept) = LastApplied::default().resolve_conflicts(&bare, &wanted());
        assert!(kept.is_empty());
        let given = granted.merge_taints(&bare, &granted, &wanted().taints);
        assert_eq!(given.len(), 2);
        let ours = node(json!({"a": "changed"}), "8", json!(given));
        assert_eq!(granted.resolve_conflicts(&ours, &wanted()).0, granted);
        let left = granted.merge_taints(&ours, &LastApplied::default(), &[]);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].key, "x");
    }
}
