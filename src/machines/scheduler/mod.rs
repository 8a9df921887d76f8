//! The pod scheduler: binds pods of `default-scheduler` to nodes, by filters and scores as
//! kube-scheduler has them. Decisions are made on a picture of the cluster held in memory; `run`
//! feeds it and carries out what it decides. Must not know who made the nodes or runs the pods.

mod binding_cycle;
mod cache;
mod default_preemption;
mod event_handlers;
mod filter;
mod fit_error;
mod inter_pod_affinity;
mod node_info;
mod pod_info;
mod pod_topology_spread;
mod schedule_one;
mod scheduling_loop;
mod scheduling_queue;
mod score;
mod selector;
mod simulation;
mod taint_toleration;

#[cfg(test)]
mod tests;

pub use node_info::NodeInfo;
pub use pod_info::PodInfo;
pub use scheduling_loop::start;
pub(crate) use selector::node_term;
pub use simulation::Simulation;
pub(crate) use taint_toleration::{tolerated, tolerates};

/// The name under which pods ask for this scheduler.
pub const NAME: &str = "default-scheduler";
