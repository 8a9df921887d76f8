//! What happens to the UI, and what the UI wants done.

use std::sync::Arc;

use jiff::Timestamp;

use super::actions::{ActionError, ObjectRef, PresetBoard, Sample, Story};
use super::keymap;
use super::model::{Key, Kind, News};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(keymap::Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse wheel was turned, down for positive.
    Wheel(isize),
    /// The mouse was clicked at a column and row.
    Click(u16, u16),
    /// The terminal has so many columns and rows.
    Resize(u16, u16),
    /// It is this moment in the lab.
    Tick(Timestamp),
    /// A watch told something.
    News(News),
    /// An object of a watched kind cannot be read, and why.
    Unreadable(Kind, Key, String),
    /// The presets changed.
    Presets(Arc<PresetBoard>),
    /// The demo went on.
    Story(Arc<Story>),
    /// An action is done, or not.
    Done(Result<String, ActionError>),
    /// An object was fetched, or not.
    Fetched(ObjectRef, Result<Fetched, String>),
    /// An explanation came, or not.
    Explained(Key, Result<String, String>),
}

/// An object as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// As YAML.
    pub yaml: String,
    /// As a description.
    pub described: String,
}

/// Something the UI wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Leave.
    Quit,
    /// Submit sample workloads.
    Submit(Sample),
    /// Submit a sample of a preset: preset and name.
    SubmitNamed(String, String),
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
    Explain(Key),
    /// Put text on the clipboard.
    Copy(String),
}
