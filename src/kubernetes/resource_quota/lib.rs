//! Evaluators of ResourceQuota usage, resource requests and limits of pods, and QoS classes.
//! Objects are JSON.
//!
//! Used by the API server's ResourceQuota plugin and by the ResourceQuota controller; must not
//! depend on them.

mod claims;
mod evaluator;
mod object_usage;
pub mod pod_requests;
mod pods;
pub mod qos;
pub mod resource_name;
mod scope;

pub use evaluator::{Evaluator, calculate_usage, hard_limits, mask, resource_of};
pub use object_usage::ObjectUsage;
pub use pods::missing_requirements;
