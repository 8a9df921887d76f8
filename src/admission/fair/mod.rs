//! Fair sharing among ClusterQueues: who goes first in a cycle.
//!
//! Must not know what happens to entries.

mod compare;
mod tournament;

pub use compare::{Contender, goes_before};
pub use tournament::Tournament;
