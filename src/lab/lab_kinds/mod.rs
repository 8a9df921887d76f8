//! The kinds of `kueue-lab.dev`, by which other processes see and switch the presets of a lab and run its
//! demos.

mod definition;
mod demo_object;
mod preset_controller;
mod preset_object;

pub(crate) use definition::definitions;
pub use demo_object::{DemoSpec, DemoState, DemoStatus, DemoStepStatus};
pub(crate) use preset_controller::serve;
pub use preset_object::{PresetSpec, PresetStatus};

/// The API group of the kinds.
const GROUP: &str = "kueue-lab.dev";
/// Their version.
const VERSION: &str = "v1alpha1";
