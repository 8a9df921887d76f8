//! Faults in the environment of a lab. Afterwards, and at every point in time, no quota is used twice and
//! no Job is lost.
//!
//! Each fault has its own cluster in this process, with a proxy and a clock, and labs as processes.

mod clock_skew;
mod credentials;
mod fault_context;
mod fault_table;
mod network;
mod write_failures;

pub(crate) use fault_context::FaultContext;
pub(crate) use fault_table::FAULTS;
