//! The status of resource quotas: what is used of what they limit. (Refusing what exceeds them is
//! the API server's.)

mod resource_quota_controller;
mod usage;

pub use resource_quota_controller::start;
