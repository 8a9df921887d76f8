//! The node of control plane pods.

/// The node name of control plane pods. There is no Node object with this name.
pub const CONTROL_PLANE_NODE: &str = "kueue-lab-control-plane";
