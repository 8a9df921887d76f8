//! The StatefulSet controller: pods with names that stay, made and ended in order.

pub(crate) mod identity;
mod stateful_set;
mod stateful_set_control;

pub use stateful_set::start;
