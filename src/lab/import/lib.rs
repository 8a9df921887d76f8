//! Reads the objects of a cluster that decide about admission, with read-only rights, into a bundle from
//! which a lab starts in the same state. Never requests Secrets, and writes nothing to the cluster.

mod anonymize;
mod apply_order;
mod bundle;
mod capacity_objects;
mod change_scope;
mod cluster_reader;
mod error;
mod import_cluster;
mod imported_object;
mod job_kinds;
mod last_applied;
mod named_objects;
mod owners;
mod paged_list;
mod recorded_bundle;

pub use anonymize::anonymize;
pub use apply_order::apply_order;
pub use bundle::Bundle;
pub use change_scope::{ChangeScope, ComparableObjects};
pub use error::ImportError;
pub use import_cluster::{import_cluster, import_for_change};
pub use named_objects::{NamedObjects, ObjectName, applied_objects};
pub use paged_list::PagedLists;
pub use recorded_bundle::recorded_bundle;
