//! Who of several instances leads, by a Lease, as Kubernetes' own controllers settle it.
//!
//! Nobody trusts anybody's clock: a lease is over when its holder was not *seen* to renew it for as
//! long as it lasts. A leader that cannot renew stops leading before others may think so.
//!
//! Knows the cluster only through a `kube::Client`, and nothing of what the leader does.

mod leader_election_record;
mod leader_elector;
#[cfg(test)]
mod tests;

pub use leader_elector::{LeaderElectionConfig, LeaderElector, NamespaceMissing};
