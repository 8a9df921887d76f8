//! Concurrent admission: a Workload whose ClusterQueue has a policy for it stands for its variants,
//! one per flavor, that wait side by side. Of those admitted the one with the best flavor stays,
//! and the Workload is admitted where it is.
//!
//! One look at a family makes missing variants, deletes those whose flavor is gone, carries
//! evictions and admissions over to the Workload, wakes and puts to sleep variants by the policy,
//! and lets one variant at a time preempt. Who is admitted is decided by the engine alone.

mod controller;
mod preemption_gate;
mod sync_status;
mod variant_activation;
mod variant_family;
mod variants;

pub(super) use controller::start;
