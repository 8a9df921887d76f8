//! What the person looks at: the open view, the selected row, filters, orders, pages, questions.
//! State only; `update` changes it, `view` draws it.

mod filter;
mod form;
mod list;
mod notes;
mod overlay;
mod page;
mod prompt;
mod view_id;

pub use filter::{Filter, FilterError};
pub use form::{Field, FieldId, SampleForm};
pub use list::{List, RowId, Sort, SortBy};
pub use notes::{Note, Notes, Tone};
pub use overlay::{Choice, Menu, Overlay, Question};
pub use page::{Broken, Content, Page, PageKind};
pub use prompt::{Prompt, PromptKind};
pub use view_id::ViewId;

use std::collections::BTreeSet;

use super::model::quota::Member;

/// Where the person is: a view, and a page over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The view.
    pub view: ViewId,
    /// What the page shows, if one is open.
    pub page: Option<PageKind>,
}

/// Everything about looking.
#[derive(Clone, Debug, Default)]
pub struct Ui {
    /// Columns of the terminal.
    pub width: u16,
    /// Rows of the terminal.
    pub height: u16,
    /// The open view.
    pub view: ViewId,
    /// The view before it.
    pub last_view: Option<ViewId>,
    /// The list of each view, in the order of [`ViewId::ALL`].
    pub lists: [List; ViewId::ALL.len()],
    /// The page over the view.
    pub page: Option<Page>,
    /// The question, menu or form over everything.
    pub overlay: Option<Overlay>,
    /// The line being typed.
    pub prompt: Option<Prompt>,
    /// Messages.
    pub notes: Notes,
    /// The only namespace shown; `None` for all.
    pub namespace: Option<String>,
    /// Whether workloads that have ended are hidden.
    pub hide_over: bool,
    /// Whether the demo that ended is no longer shown.
    pub story_closed: bool,
    /// Closed branches of the queue tree.
    pub folded: BTreeSet<Member>,
    /// Places to go back to.
    pub past: Vec<Place>,
    /// Places to go forward to.
    pub future: Vec<Place>,
    /// Commands typed before, the latest last.
    pub typed: Vec<String>,
    /// The form as it was submitted last.
    pub last_sample: Option<SampleForm>,
}

impl Ui {
    /// The list of the open view.
    pub fn list(&self) -> &List {
        &self.lists[self.view.index()]
    }

    /// The list of the open view.
    pub fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.view.index()]
    }

    /// Where the person is.
    pub fn place(&self) -> Place {
        Place {
            view: self.view,
            page: self.page.as_ref().map(|p| p.kind.clone()),
        }
    }
}
