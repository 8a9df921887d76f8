//! Warnings about queue configurations that are valid and have another effect than intended: policies that
//! never find a preemption target, limits without effect, queues that cannot admit anything.

mod allow_comments;
mod borrowers;
mod cohorts;
mod engine_quotas;
mod node_capacity;
mod old_api;
mod preemption_loops;
mod preset_lints;
mod priority_classes;
mod queue_fields;
mod quotas;
mod starvation;

pub(super) use allow_comments::{AllowComments, unknown_allowed};
pub use node_capacity::LabNode;
pub(super) use node_capacity::NodesSource;
pub(super) use old_api::OldApiWarnings;
pub use preset_lints::LINT_NAMES;
pub(super) use preset_lints::{Lint, LintContext, lint};
