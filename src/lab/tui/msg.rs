//! Messages to the UI, and the commands it returns.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::backend::{ClockState, DemoStart, OperationError, PresetList, ScenarioProgress};
use crate::input::Key;
use crate::model::{Kind, ObjectKey, WatchUpdate};
use crate::operation::{AnyOperation, Operation};
use crate::state::{GoInTime, PageKind, Past};

/// An input of [`update`](crate::update::update).
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// The mouse wheel was turned; positive is down.
    Scroll(isize),
    /// The mouse was clicked at a column and row.
    Click(u16, u16),
    /// The terminal has this many columns and rows.
    Resize(u16, u16),
    /// The lab time.
    Tick(Timestamp),
    /// Another moment is shown: the present, or a moment of the past.
    Moment(Timestamp, Option<Past>),
    /// All objects are those of another cluster from now on, which are watched again.
    Restarted,
    /// What was found at another moment, or that nothing was.
    Found(Result<String, String>),
    /// A watch event.
    WatchUpdate(WatchUpdate),
    /// An object of a watched kind cannot be decoded, with the error.
    InvalidObject(Kind, ObjectKey, String),
    /// The presets changed.
    Presets(Arc<PresetList>),
    /// The deleted nodes of the node pools changed.
    DeletedNodes(Arc<BTreeSet<String>>),
    /// The clock of the lab was paused or resumed, or the heads of a paused cycle changed.
    ClockChanged(Arc<ClockState>),
    /// The progress of the demo changed.
    ScenarioProgress(Arc<ScenarioProgress>),
    /// A demo does not start, since these workloads can use its quota.
    OtherWorkloads(DemoStart, Vec<String>),
    /// An operation succeeded or failed; one sentence about the result.
    OperationFinished(Result<String, OperationError>),
    /// The preemption candidates of a Workload were loaded; `None` without any.
    CandidatesLoaded(ObjectKey, Option<String>),
    /// The text of a page was loaded, or the error.
    PageLoaded(PageKind, Result<String, OperationError>),
}

/// An output of [`update`](crate::update::update).
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Quit.
    Quit,
    /// Stop the process until the shell continues it.
    Suspend,
    /// Put text on the clipboard.
    Copy(String),
    /// Show another moment.
    GoInTime(GoInTime),
    /// Run an operation in the background.
    Operation(AnyOperation),
}

impl Cmd {
    /// The command that runs an operation.
    pub(crate) fn operation(operation: impl Operation) -> Self {
        Self::Operation(AnyOperation::new(operation))
    }
}
