//! What operations work on: the cluster, and the capabilities of the lab that runs it.
//!
//! A capability that the cluster does not have is `None`; the actions that need it are unavailable.

mod capabilities;
mod clock;
mod demo;
mod explainer;
mod operation_error;
mod past;
mod preset;

pub use capabilities::Backend;
pub use clock::{ClockBackend, ClockState};
pub use demo::{
    Demo, DemoBackend, DemoPace, DemoStart, DemoStarted, OtherWorkloads, ScenarioOutcome,
    ScenarioProgress, StepProgress, StepState,
};
pub use explainer::Explainer;
pub use operation_error::OperationError;
pub use past::PastBackend;
pub use preset::{Diagnostic, Preset, PresetBackend, PresetList, PresetState};
