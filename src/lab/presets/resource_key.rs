//! The identity of an object, and the order in which objects are applied.

use std::fmt;

use serde::{Deserialize, Serialize};

use kueue_lab_api::v1beta2::GROUP;

/// The identity of an object, independent of its API version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceKey {
    /// API group; empty for core.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl ResourceKey {
    /// The key of an object of the core group.
    pub(super) fn core(kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Rank in the apply order, lowest first; pruning uses the reverse order.
    pub(crate) fn apply_order(&self) -> u8 {
        match (self.group.as_str(), self.kind.as_str()) {
            ("", "Namespace") => 0,
            ("apiextensions.k8s.io", _) => 1,
            ("", "ServiceAccount" | "ConfigMap" | "Secret" | "LimitRange" | "ResourceQuota")
            | ("rbac.authorization.k8s.io" | "scheduling.k8s.io" | "node.k8s.io", _) => 2,
            (GROUP, "WorkloadPriorityClass" | "Topology" | "ProvisioningRequestConfig") => 3,
            (GROUP, "ResourceFlavor" | "MultiKueueConfig" | "MultiKueueCluster") => 4,
            (GROUP, "AdmissionCheck" | "Cohort") => 5,
            (GROUP, "ClusterQueue") => 6,
            (GROUP, "LocalQueue") => 7,
            _ => 8,
        }
    }

    /// Whether it is an object of this kind of Kueue.
    pub fn is_kueue(&self, kind: &str) -> bool {
        self.group == GROUP && self.kind == kind
    }
}

impl fmt::Display for ResourceKey {
    /// `Kind/name` or `Kind/namespace/name`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}
