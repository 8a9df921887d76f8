//! The state of the user interface: the open view, its list, page, dialog and prompt.

use std::collections::BTreeSet;

use super::{
    Dialog, ListState, Notifications, Page, PageKind, Past, Prompt, RowId, SubmitForm, ViewId,
};
use crate::model::cohort_tree::QuotaNode;

/// A location in history: a view, and the page over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The view.
    pub view: ViewId,
    /// The page and the row it is about, if one is open.
    pub page: Option<(PageKind, Option<RowId>)>,
}

/// The state of the user interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct UiState {
    /// Columns of the terminal.
    pub width: u16,
    /// Rows of the terminal.
    pub height: u16,
    /// The open view.
    pub view: ViewId,
    /// The previous view.
    pub last_view: Option<ViewId>,
    /// The list of each view, in the order of [`ViewId::ALL`].
    pub lists: [ListState; ViewId::ALL.len()],
    /// The page over the view.
    pub page: Option<Page>,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// The open prompt.
    pub prompt: Option<Prompt>,
    /// The shown past; `None` for the present.
    pub past: Option<Past>,
    /// Notifications.
    pub notifications: Notifications,
    /// The only namespace shown; `None` for all.
    pub namespace: Option<String>,
    /// Whether finished Workloads are hidden.
    pub hide_finished: bool,
    /// Whether the panel of the finished demo is closed.
    pub scenario_closed: bool,
    /// Folded branches of the cohort tree.
    pub folded: BTreeSet<QuotaNode>,
    /// Locations to go back to, the latest last.
    pub back_stack: Vec<Location>,
    /// Locations to go forward to, the latest last.
    pub forward_stack: Vec<Location>,
    /// The command history, the latest last.
    pub command_history: Vec<String>,
    /// The form as submitted last.
    pub last_form: Option<SubmitForm>,
}

impl UiState {
    /// The list of the open view.
    pub(crate) fn list(&self) -> &ListState {
        &self.lists[self.view.index()]
    }

    /// The list of the open view.
    pub(crate) fn list_mut(&mut self) -> &mut ListState {
        &mut self.lists[self.view.index()]
    }

    /// The current location.
    pub(crate) fn location(&self) -> Location {
        Location {
            view: self.view,
            page: self.page.as_ref().map(|p| (p.kind.clone(), p.row.clone())),
        }
    }
}
