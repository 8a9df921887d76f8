//! Lifecycle of CustomResourceDefinitions: naming, establishing, and deletion of instances.
//!
//! All updates are synchronous within the request: when the response to the creation of a
//! CustomResourceDefinition is sent, its kinds are served.

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

pub(super) use sync::{after_commit, is_definition, is_replaceable, sync_all_crds};
