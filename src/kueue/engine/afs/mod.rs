//! Admission fair sharing: orders the LocalQueues of a ClusterQueue by their consumed usage and
//! the entry penalties of their recent admissions.
//!
//! Must not depend on queues or quota.

mod consumed_usage;
mod entry_penalty;
#[cfg(test)]
mod test_fixtures;
mod usage_ledger;

pub(crate) use consumed_usage::calculate_decayed_consumed;
pub use consumed_usage::{local_queue_weight, sum};
pub(crate) use entry_penalty::{entry_penalty, exact_requests};
pub use usage_ledger::{AfsUsageLedger, UsageLedgerEntry};
