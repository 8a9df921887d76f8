//! The kinds of the lab, by which other processes see and switch its presets, run its demos and launch
//! managed jobs.

mod definition;
mod demo_object;
mod preset_controller;
mod preset_object;
mod served_kind;

pub(crate) use definition::definitions;
pub use definition::managed_job_definition;
pub use demo_object::{DemoSpec, DemoState, DemoStatus, DemoStepStatus};
pub(crate) use preset_controller::serve;
pub use preset_object::{PresetSpec, PresetStatus};
pub use served_kind::{ServedKind, serve_kind};

/// The API group of presets and demos.
const GROUP: &str = "kueue-lab.dev";
/// Their version.
const VERSION: &str = "v1alpha1";
