//! The life of CustomResourceDefinitions: names accepted, kinds served, instances cleaned up.
//!
//! Everything happens within the request that causes it: when the answer to a definition's creation
//! is sent, its kinds are served.

mod api_approval;
mod condition;
mod deletion;
mod established;
mod finalizer;
mod naming;
mod sync;

pub(crate) use established::established_status;

pub(crate) use sync::crd_storage;

pub(super) use deletion::plan_deletion;

pub(super) use sync::after_commit;
