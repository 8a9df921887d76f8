//! The garbage collector: deletes objects whose owners no longer exist, and handles foreground and
//! orphan deletion.
//!
//! It watches the metadata of every kind, except Events and Leases: they change often and have no
//! dependents.

mod attempt_to_delete;
mod garbage_collector_controller;
mod graph;
mod graph_builder;

pub(super) use garbage_collector_controller::start;
use graph_builder::GarbageCollector;
