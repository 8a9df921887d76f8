//! The StatefulSet controller: pods with stable identities, created and deleted in order.

pub(crate) mod identity;
mod stateful_set;
mod stateful_set_control;

pub(crate) use stateful_set::start;
