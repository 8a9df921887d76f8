//! The terminal UI as the subcommands run it.

mod cluster_demos;
mod cluster_presets;
mod demo_controller;
mod engine_explainer;
mod lab_demos;
mod lab_presets;
mod lab_speed;
mod object_list;
mod preset_list;
mod preset_samples;
mod scenario_progress;
mod session;

pub(super) use cluster_demos::ClusterDemos;
pub(super) use cluster_presets::ClusterPresets;
pub(super) use demo_controller::serve_demos;
pub(super) use engine_explainer::EngineSource;
pub(super) use lab_demos::LabDemos;
pub(super) use session::{TuiArgs, backend, has_terminal, run_until_shutdown};
