//! What the controllers of a cluster share (`pkg/controller/controller_utils.go`, client-go's recorder): Events, the
//! state and the eviction of pods, ResourceClaims, hashes of templates. Must not depend on any component.

pub mod control_plane_node;
mod event_cache;
pub mod event_recorder;
pub mod pod_eviction;
pub mod pods;
pub mod resource_claims;
pub mod template_hash;
