//! The pod scheduler: binds pods of `default-scheduler` to nodes, with filters and scores of
//! kube-scheduler. Decisions are made on an in-memory cache; `run` carries them out.
//! Must not depend on the node controllers or the kubelet.

mod bind_claims;
mod binding_conditions;
mod binding_cycle;
mod cache;
mod default_preemption;
mod dynamic_resources;
mod event_handlers;
mod filter;
mod fit_error;
mod inter_pod_affinity;
mod node_info;
mod pod_info;
mod pod_topology_spread;
mod run;
mod schedule_one;
mod scheduling_queue;
mod score;
mod simulation;

#[cfg(test)]
mod tests;

pub(crate) use node_info::NodeInfo;
pub(crate) use pod_info::PodInfo;
pub use run::start;
pub use simulation::Simulation;

/// The value of `spec.schedulerName` for this scheduler.
pub(crate) const NAME: &str = "default-scheduler";
