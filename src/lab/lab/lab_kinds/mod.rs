//! The kinds of the lab, by which other processes see and switch its presets, run its demos, launch
//! managed jobs and control its clock.

mod clock_controller;
mod clock_object;
mod definition;
mod demo_object;
mod preset_controller;
mod preset_object;
mod served_kind;

pub(crate) use clock_controller::serve_clock;
pub use clock_object::{CLOCK, ClockSpec, ClockStatus};
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
