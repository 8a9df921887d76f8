//! [`KubeletOptions`]: startup times, and the nodes whose pods run.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;

use kueue_lab_nodes::is_managed;

/// Options of the kubelets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KubeletOptions {
    /// Minimum startup time of a pod (sandbox and image).
    pub startup: Duration,
    /// Maximum random addition to it.
    pub jitter: Duration,
    /// The nodes whose pods run.
    pub nodes: NodeScope,
}

/// Which nodes the kubelet serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeScope {
    /// Virtual nodes; others have real kubelets.
    Managed,
    /// All nodes, in a cluster without real kubelets.
    All,
    /// All nodes except virtual ones: simulates real kubelets in tests.
    Unmanaged,
}

impl NodeScope {
    /// Whether it includes a node.
    pub fn contains(self, node: &Node) -> bool {
        match self {
            Self::Managed => is_managed(node),
            Self::All => true,
            Self::Unmanaged => !is_managed(node),
        }
    }
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self {
            startup: Duration::from_millis(300),
            jitter: Duration::from_millis(300),
            nodes: NodeScope::Managed,
        }
    }
}
