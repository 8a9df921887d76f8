//! The objects a cluster has before anybody creates any.

mod bootstrap_object;
mod rbac_bootstrap_policy;
mod system_objects;

pub(super) use bootstrap_object::create_bootstrap_objects;
