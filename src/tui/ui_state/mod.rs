//! What the person looks at: the open view, the selected row, filters, orders, pages, questions.
//! State only; `update` changes it, `open_view` draws it.

mod dialog;
mod filter;
mod form;
mod list;
mod notifications;
mod page;
mod prompt;
mod view_id;

pub use dialog::{Confirmation, Dialog, Menu, MenuKind};
pub use filter::{Filter, FilterError};
pub use form::{Field, FieldId, SubmitForm};
pub use list::{ListState, RowId, Sort, SortBy};
pub use notifications::{Notification, Notifications, Severity};
pub use page::{Page, PageContent, PageKind, WrappedLines};
pub use prompt::{Prompt, PromptMode};
pub use view_id::ViewId;

use std::collections::BTreeSet;

use super::model::cohort_tree::QuotaNode;

/// Where the person is: a view, and a page over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The view.
    pub view: ViewId,
    /// What the page shows, if one is open.
    pub page: Option<PageKind>,
}

/// Everything about looking.
#[derive(Clone, Debug, Default)]
pub struct UiState {
    /// Columns of the terminal.
    pub width: u16,
    /// Rows of the terminal.
    pub height: u16,
    /// The open view.
    pub view: ViewId,
    /// The view before it.
    pub last_view: Option<ViewId>,
    /// The list of each view, in the order of [`ViewId::ALL`].
    pub lists: [ListState; ViewId::ALL.len()],
    /// The page over the view.
    pub page: Option<Page>,
    /// The question, menu or form over everything.
    pub dialog: Option<Dialog>,
    /// The line being typed.
    pub prompt: Option<Prompt>,
    /// Messages.
    pub notifications: Notifications,
    /// The only namespace shown; `None` for all.
    pub namespace: Option<String>,
    /// Whether workloads that have ended are hidden.
    pub hide_finished: bool,
    /// Whether the demo that ended is no longer shown.
    pub scenario_closed: bool,
    /// Closed branches of the queue tree.
    pub folded: BTreeSet<QuotaNode>,
    /// Places to go back to.
    pub back_stack: Vec<Location>,
    /// Places to go forward to.
    pub forward_stack: Vec<Location>,
    /// Commands typed before, the latest last.
    pub command_history: Vec<String>,
    /// The form as it was submitted last.
    pub last_form: Option<SubmitForm>,
}

impl UiState {
    /// The list of the open view.
    pub fn list(&self) -> &ListState {
        &self.lists[self.view.index()]
    }

    /// The list of the open view.
    pub fn list_mut(&mut self) -> &mut ListState {
        &mut self.lists[self.view.index()]
    }

    /// Where the person is.
    pub fn location(&self) -> Location {
        Location {
            view: self.view,
            page: self.page.as_ref().map(|p| p.kind.clone()),
        }
    }
}
