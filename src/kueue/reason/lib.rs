//! Why a workload is not admitted, as values, with their renderings: the sentences of upstream's conditions
//! and Events, and the verdicts of `explain` and the UI. The parser of upstream's sentences stands
//! beside their renderer.
//!
//! Must not depend on how a decision is made.

mod assignment_error;
mod candidate_outcome;
mod cycle_head;
mod flavor_reason;
mod inadmissible_reason;
mod messages;
mod never_fits;
mod not_nominated;
mod pending_reason;
mod pending_verdict;
mod preemption_reason;
mod preemption_shortage;
mod quota_limit;
mod requeue_event;
mod stop_condition;
mod tas_exclusion_stats;
mod tas_failure;

pub use assignment_error::AssignmentError;
pub use candidate_outcome::{CandidateOutcome, PreemptionVariant};
pub use cycle_head::{CycleHead, HeadOutcome};
pub use flavor_reason::{FlavorReason, UntoleratedTaint};
pub use inadmissible_reason::{
    InadmissibleCause, InadmissibleReason, PendingEvictions, PodSetReasons,
};
pub use kueue_lab_quota_tree::resources;
pub use messages::{MessagePriority, PreemptionMessage, TextStyle, candidates_text, preemptor_uid};
pub use never_fits::EvaluatedPodSet;
pub use not_nominated::PendingFacts;
pub use pending_reason::{
    MissingQuota, PendingReason, PermanentReason, PodSetShortage, Shortage, WorkloadsAhead,
};
pub use pending_verdict::{PendingVerdict, PendingVerdictKind};
pub use preemption_reason::PreemptionReason;
pub use preemption_shortage::{PreemptionShortageReason, ResourceShortage};
pub use quota_limit::{QuotaField, QuotaLimit, QuotaObject, QuotaShortfall};
pub use requeue_event::{InadmissibleState, RequeueEvent, RequeueScope};
pub use stop_condition::{StopCondition, UnknownStopCondition};
pub use tas_exclusion_stats::TasExclusionStats;
pub use tas_failure::{LayerFit, NoFit, TasFailure, TasFit};
