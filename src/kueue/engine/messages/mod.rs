//! Messages of Events, evictions and preemptions, created from the data of a decision. The sentences
//! of reasons are those of `kueue_lab_reason`.
//!
//! Must not depend on how decisions are made.

mod event;
mod preemption;

pub use crate::truncate::{truncate_condition, truncate_event};
pub use event::{Event, EventType, PODS_NOT_READY, admitted, quota_reserved};
pub(crate) use event::{slice_replaced, unadmitted};
pub use preemption::{PreemptionMessages, migration};
