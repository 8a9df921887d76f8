//! What the components of a cluster share, as `k8s.io/component-helpers` and client-go have it: Events, pods and their
//! requests, node selectors, taints and tolerations, ResourceClaims. Must not depend on any component.

pub mod control_plane_node;
pub mod device_taints;
pub mod event_recorder;
pub mod int_or_percent;
pub mod pod_eviction;
pub mod pods;
pub mod resource_claims;
pub mod resources;
pub mod selector;
pub mod taint_toleration;
pub mod template_hash;
