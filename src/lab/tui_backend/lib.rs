//! The backends of the terminal UI: presets, demos and the speed of a lab of this process ([`LabPresets`],
//! [`LabDemos`], [`LabSpeed`]) or of another one ([`ClusterPresets`], [`ClusterDemos`]).

mod cluster_demos;
mod cluster_presets;
mod demo_controller;
mod lab_backend;
mod lab_demos;
mod lab_presets;
mod lab_speed;
mod object_list;
mod preset_list;
mod preset_samples;
mod scenario_progress;

pub use cluster_demos::ClusterDemos;
pub use cluster_presets::ClusterPresets;
pub use demo_controller::serve_demos;
pub use lab_backend::lab_backend;
pub use lab_demos::{LabDemos, RunningDemo};
pub use lab_presets::LabPresets;
pub use lab_speed::LabSpeed;
