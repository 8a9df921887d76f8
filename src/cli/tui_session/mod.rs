//! The terminal UI as the subcommands open it: its flags, its session and the operations that it can
//! perform on a lab.

mod engine_explainer;
mod lab_operations;
mod preset_list;
mod preset_samples;
mod scenario_progress;
mod session;
mod tui_args;

pub(super) use engine_explainer::EngineExplainer;
use lab_operations::LabOperations;
pub(super) use session::has_terminal;
pub(super) use tui_args::TuiArgs;
