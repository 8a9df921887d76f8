//! [`TasExclusionStats`]: the number of excluded nodes by reason.
//!
//! Must not depend on how nodes are filtered.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::resources::ResourceName;

/// The numbers of excluded nodes of a flavor, by reason. The text is the end of Kueue's message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TasExclusionStats {
    /// The number of nodes (or domains of the lowest level) considered.
    pub total_nodes: usize,
    /// Nodes that the node selector does not match.
    pub node_selector: usize,
    /// Nodes that the required node affinity does not match.
    pub affinity: usize,
    /// Nodes outside of the domain required for a replacement.
    pub topology_domain: usize,
    /// Nodes with an untolerated taint, by the first such taint.
    pub taints: BTreeMap<String, usize>,
    /// Nodes without capacity for a pod, by the limiting resource.
    pub resources: BTreeMap<ResourceName, usize>,
}

impl TasExclusionStats {
    /// Whether no node is excluded.
    pub fn is_empty(&self) -> bool {
        self.node_selector == 0
            && self.affinity == 0
            && self.topology_domain == 0
            && self.taints.is_empty()
            && self.resources.is_empty()
    }
}

impl fmt::Display for TasExclusionStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons = Vec::new();
        let plain = [
            ("nodeSelector", self.node_selector),
            ("affinity", self.affinity),
            ("topologyDomain", self.topology_domain),
        ];
        for (name, count) in plain.into_iter().filter(|(_, count)| *count > 0) {
            reasons.push(format!("{name}: {count}"));
        }
        for (taint, count) in &self.taints {
            reasons.push(format!("taint {taint:?}: {count}"));
        }
        for (resource, count) in &self.resources {
            reasons.push(format!("resource {:?}: {count}", resource.as_str()));
        }
        reasons.sort_unstable();
        f.write_str(&reasons.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sorted_as_text() {
        let e = TasExclusionStats {
            total_nodes: 9,
            node_selector: 1,
            affinity: 2,
            topology_domain: 0,
            taints: [("spot:NoSchedule".into(), 3)].into(),
            resources: [("cpu".into(), 2), ("memory".into(), 1)].into(),
        };
        assert_eq!(
            e.to_string(),
            "affinity: 2, nodeSelector: 1, resource \"cpu\": 2, resource \"memory\": 1, taint \"spot:NoSchedule\": 3"
        );
        assert!(!e.is_empty());
        assert!(TasExclusionStats::default().is_empty());
    }
}
