//! The garbage collector: deletes objects whose owners are gone, lets owners that are deleted in
//! the foreground go after their dependents, and sets dependents free where they are to stay.
//!
//! It watches the metadata of every kind. Events and leases are left out: they change all the time
//! and nothing is owned by them.

mod attempt_to_delete;
mod garbage_collector_controller;
mod graph;
mod graph_builder;

pub use garbage_collector_controller::start;
use graph_builder::GarbageCollector;
