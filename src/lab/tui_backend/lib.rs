//! The backends of the terminal UI: presets, demos and the clock of a lab of this process ([`LabPresets`],
//! [`LabDemos`], [`LabClockBackend`]) or of another one ([`ClusterPresets`], [`ClusterDemos`], [`ClusterClock`]).

mod cluster_clock;
mod cluster_demos;
mod cluster_presets;
mod demo_controller;
mod lab_backend;
mod lab_clock_backend;
mod lab_demos;
mod lab_presets;
mod object_list;
mod preset_list;
mod preset_samples;
mod scenario_progress;
mod unfinished_workloads;

pub use cluster_clock::ClusterClock;
pub use cluster_demos::ClusterDemos;
pub use cluster_presets::ClusterPresets;
pub use demo_controller::serve_demos;
pub use lab_backend::lab_backend;
pub use lab_clock_backend::LabClockBackend;
pub use lab_demos::{LabDemos, RunningDemo};
pub use lab_presets::LabPresets;
