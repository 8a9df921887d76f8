//! Applies a plan: a server-side dry run first, then the changes, with a rollback on failure.

mod api_errors;
mod applier;
mod apply_objects;
mod apply_options;
mod dry_run;
mod field_conflicts;
mod prune;
mod rollback;
mod take_over;

pub(super) use applier::{Applier, ApplyError};
pub use apply_options::ApplyOptions;
pub use field_conflicts::SCENARIO_MANAGER;
pub use take_over::TakenOverFields;
