//! The terminal UI as the subcommands run it.

mod engine_explainer;
mod lab_demos;
mod lab_presets;
mod lab_speed;
mod preset_list;
mod preset_samples;
mod scenario_progress;
mod session;

pub(super) use engine_explainer::EngineSource;
pub(super) use session::{TuiArgs, backend, has_terminal};
