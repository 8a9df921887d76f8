//! Fair sharing among ClusterQueues: who goes first in a cycle.
//!
//! Must not know what happens to entries.

mod entry_comparer;
mod fair_sharing_iterator;

pub use entry_comparer::{FairSharingEntry, entry_less};
pub use fair_sharing_iterator::FairSharingIterator;
