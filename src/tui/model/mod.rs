//! The model: rows from watches, and data derived from them. Pure: no terminal, no client. All text
//! is sanitized.

mod cluster_data;
pub mod cohort_tree;
pub mod condition;
pub mod derived;
pub mod event;
pub mod evictions;
pub mod import;
mod kind;
pub mod meta;
pub mod node;
mod object_ref;
pub mod pod;
pub mod queues;
mod store;
pub mod watch_status;
mod watch_update;
pub mod workload;

#[cfg(test)]
mod reference_tests;

pub use cluster_data::ClusterData;
pub use kind::Kind;
pub use kueue_lab_runtime::ObjectKey;
pub use object_ref::ObjectRef;
pub use store::{Delta, Row, Store};
pub use watch_update::WatchUpdate;
