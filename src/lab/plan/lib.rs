//! The effects of a change on a cluster, computed on copies of it: embedded labs in virtual time that start from
//! the imported objects. One copy gets the change, the other does not, and the difference of their states is
//! the effect. The cluster itself is not changed.

mod cluster_plan;
mod cluster_state;
mod effects;
mod eviction;
mod import_check;
mod json_diff;
mod markdown;
mod object_changes;
mod owner_notes;
mod plan_error;
mod plan_preset;
mod preset_scope;
mod quota_changes;
mod quota_state;
mod text;
mod workload_state;

pub use cluster_plan::ClusterPlan;
pub use cluster_state::ClusterState;
pub use effects::{Effect, EffectKind, effects};
pub use import_check::check_import;
pub use markdown::markdown;
pub use object_changes::{FieldChange, ObjectAction, ObjectChange};
pub use plan_error::PlanError;
pub use plan_preset::{PlannedChange, plan_preset};
pub use preset_scope::change_scope;
pub use quota_changes::QuotaChange;
pub use text::{check_text, plan_text};
pub use workload_state::{WorkloadPhase, WorkloadState};
