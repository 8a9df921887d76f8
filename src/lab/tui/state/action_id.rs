//! Identifiers of actions.

use super::{SortBy, ViewId};

/// Identifies an action: something that a key or a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionId {
    /// Closes the page, the notification, the finished demo or the filter.
    Back,
    /// Quits, after confirmation if that stops the lab.
    Quit,
    /// Quits without confirmation.
    QuitAtOnce,
    /// Stops the process until the shell continues it.
    Suspend,
    /// Goes to a view.
    GoToView(ViewId),
    /// Goes to a neighboring view, to the right for positive steps.
    StepView(isize),
    /// Goes to the previous view.
    LastView,
    /// Goes back in history.
    HistoryBack,
    /// Goes forward in history.
    HistoryForward,
    /// Goes to the Workloads related to the row.
    GoToWorkloads,
    /// Goes to the ClusterQueue related to the row.
    GoToClusterQueue,
    /// Opens the prompt for a command.
    OpenCommandPrompt,
    /// Opens the prompt for the filter of the list.
    OpenFilterPrompt,
    /// Opens the prompt for a text to find in the page.
    OpenSearchPrompt,
    /// Goes to the next match of the search, or to the previous one.
    NextMatch {
        /// Whether to the next one.
        forward: bool,
    },
    /// Shows one namespace or all.
    ChooseNamespace,
    /// Sorts the list, or reverses its order.
    SortRows(SortBy),
    /// Shows or hides finished Workloads.
    ToggleFinished,
    /// Scrolls by lines; positive is down.
    ScrollLines(isize),
    /// Scrolls by screens; positive is down.
    ScrollPages(isize),
    /// Scrolls to the first line.
    ScrollToTop,
    /// Scrolls to the last line.
    ScrollToBottom,
    /// Folds or unfolds a branch of the cohort tree.
    ToggleFold,
    /// Folds a branch, or goes to the node above.
    Fold,
    /// Unfolds a branch.
    Unfold,
    /// Shows the details of the row.
    OpenDetails,
    /// Shows the object of the row as `kubectl describe` does.
    Describe,
    /// Shows the object of the row as YAML.
    ShowYaml,
    /// Shows why the Workload of the row is not admitted.
    Explain,
    /// Shows the keys and commands.
    ShowHelp,
    /// Shows all notifications.
    ShowNotifications,
    /// Copies the text of the page or the name of the row.
    CopyName,
    /// Deletes the object of the row, after confirmation.
    Delete,
    /// Opens the form for sample Jobs.
    OpenSubmitForm,
    /// Opens the menu of the samples of the active preset.
    OpenSampleMenu,
    /// Opens the menu of presets, or switches the preset.
    OpenPresetMenu,
    /// Switches to the preset of the row.
    ApplyPreset,
    /// Runs a demo.
    RunDemo,
    /// Sets the speed of lab time.
    SetSpeed,
    /// Pauses lab time, or resumes it.
    TogglePause,
    /// Pauses lab time.
    PauseClock,
    /// Resumes lab time.
    ResumeClock,
}
