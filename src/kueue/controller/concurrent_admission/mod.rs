//! Concurrent admission: a Workload whose ClusterQueue has a concurrent admission policy becomes
//! the parent of variants, one per flavor, that are pending at the same time. The parent is
//! admitted with the assignment of the admitted variant with the best flavor.
//!
//! One reconciliation creates missing variants, deletes those whose flavor was removed, syncs
//! evictions and admissions to the parent, activates and deactivates variants by the policy, and
//! opens one preemption gate at a time. Only the engine decides about admission.

mod controller;
mod preemption_gate;
mod sync_status;
mod variant_activation;
mod variant_family;
mod variants;

pub(super) use controller::start;
