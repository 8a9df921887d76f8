//! The scheduler: runs scheduling cycles of the engine and applies their actions.
//!
//! A cycle starts when a ClusterQueue has a head. After a cycle that reserved no quota the next one
//! is delayed, by up to 10 ms. In virtual time cycles that repeat each other are delayed longer.

mod apply_action;
mod cycle_backoff;
mod cycle_gate;
mod engine_timers;
mod loop_warnings;
mod scheduling_loop;
mod start;
mod status_write_pacing;
mod unchanged_cycles;

pub use cycle_gate::{CycleGate, GateState, Stop};
pub(crate) use loop_warnings::LoopWarnings;
pub(crate) use start::start;
pub(crate) use status_write_pacing::StatusWritePacing;
