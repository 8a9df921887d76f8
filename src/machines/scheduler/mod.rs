//! The pod scheduler: binds pods of `default-scheduler` to nodes, by filters and scores as
//! kube-scheduler has them. Decisions are made on a picture of the cluster held in memory; `run`
//! feeds it and carries out what it decides. Must not know who made the nodes or runs the pods.

mod affinity;
mod filter;
mod node;
mod pod;
mod preempt;
mod queue;
mod run;
mod score;
mod selector;
mod simulation;
mod spread;
mod state;
mod taints;
mod why;

#[cfg(test)]
mod laws;

pub use node::NodeInfo;
pub use pod::PodInfo;
pub use run::start;
pub use simulation::Simulation;
pub(crate) use taints::tolerates;

/// The name under which pods ask for this scheduler.
pub const NAME: &str = "default-scheduler";
