//! Leader election with a Lease, as in client-go.
//!
//! Clocks of other candidates are not trusted: a Lease has expired when no renewal was *observed*
//! for the lease duration. A leader that cannot renew stops before another candidate can acquire
//! the Lease.
//!
//! Depends on a `kube::Client` only, not on what the leader runs.

mod leader_election_record;
mod leader_elector;
#[cfg(test)]
mod tests;

pub use leader_elector::{LeaderElectionConfig, LeaderElector, NamespaceMissing};
