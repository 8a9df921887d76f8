//! Simulations with the admission engine in virtual time: the replay of job traces through
//! configurations, and the simulation of new workloads on the state of a cluster.
//!
//! [`EngineDriver`] drives an engine as the controller does, without an API server; [`replay`] feeds it
//! the jobs of a [`trace`]. The rules of Kueue are those of the engine, and nowhere else.

mod engine_driver;
pub mod preemption_loops;
pub mod replay;
pub mod report;
pub mod simulate;
pub mod trace;

pub use engine_driver::{DriverEvent, EngineDriver};
