//! What happens to the UI, and what the UI wants done.

use std::sync::Arc;

use jiff::Timestamp;

use super::keymap;
use super::model::{Kind, NamespacedName, WatchUpdate};
use super::operations::{ObjectRef, OperationError, PresetList, SampleJob, ScenarioProgress};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(keymap::Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse wheel was turned, down for positive.
    Scroll(isize),
    /// The mouse was clicked at a column and row.
    Click(u16, u16),
    /// The terminal has so many columns and rows.
    Resize(u16, u16),
    /// It is this moment in the lab.
    Tick(Timestamp),
    /// A watch told something.
    WatchUpdate(WatchUpdate),
    /// An object of a watched kind cannot be read, and why.
    InvalidObject(Kind, NamespacedName, String),
    /// The presets changed.
    Presets(Arc<PresetList>),
    /// The demo went on.
    ScenarioProgress(Arc<ScenarioProgress>),
    /// An action is done, or not.
    OperationFinished(Result<String, OperationError>),
    /// An object was fetched, or not.
    Fetched(ObjectRef, Result<FetchedObject, String>),
    /// An explanation came, or not.
    Explained(NamespacedName, Result<String, String>),
}

/// An object as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchedObject {
    /// As YAML.
    pub yaml: String,
    /// As a description.
    pub description: String,
}

/// Something the UI wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Leave.
    Quit,
    /// Submit sample workloads.
    SubmitJob(SampleJob),
    /// Submit a sample of a preset: preset and name.
    SubmitPresetSample(String, String),
    /// Delete objects.
    Delete(Vec<ObjectRef>),
    /// Switch to a preset.
    SwitchPreset(String),
    /// Run a demo.
    RunDemo(String),
    /// Change the speed.
    SetSpeed(f64),
    /// Fetch an object.
    Fetch(ObjectRef),
    /// Explain a Workload.
    Explain(NamespacedName),
    /// Put text on the clipboard.
    Copy(String),
}
