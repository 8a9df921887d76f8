//! A page of text over a view: details, a description, YAML, an explanation, messages, help.

use std::sync::Arc;

use ratatui::text::Line;

use super::RowId;
use crate::model::NamespacedName;
use crate::operations::ObjectRef;
use crate::text::wrap_indented;

/// What a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// The story of a row, from what is watched; changes as the cluster does.
    Details(RowId),
    /// An object as `kubectl describe` would show it.
    Describe(ObjectRef),
    /// An object as YAML.
    Yaml(ObjectRef),
    /// The engine's reasons for a Workload.
    Explain(NamespacedName),
    /// All messages.
    Notifications,
    /// The keys and commands.
    Help,
}

/// The text of a page.
#[derive(Clone, Debug, Default)]
pub enum PageContent {
    /// Lines made from the state; made again when it changes.
    Live(Vec<Line<'static>>),
    /// Asked for, not there yet.
    #[default]
    Loading,
    /// Plain lines that were fetched, and the same as the page shows them.
    Fetched(Arc<Vec<String>>, WrappedLines),
    /// Why there is nothing.
    Failed(String),
}

impl PageContent {
    /// How many lines there are.
    pub fn len(&self) -> usize {
        match self {
            PageContent::Live(lines) => lines.len(),
            PageContent::Fetched(_, broken) => broken.lines.len(),
            PageContent::Loading | PageContent::Failed(_) => 1,
        }
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Lines broken to fit a width.
#[derive(Clone, Debug, Default)]
pub struct WrappedLines {
    width: u16,
    /// The lines.
    pub lines: Arc<Vec<String>>,
}

impl WrappedLines {
    /// Breaks the lines anew, unless they are for that width already.
    pub fn wrap_to(&mut self, lines: &[String], width: u16) {
        if self.width != width {
            self.width = width;
            let room = usize::from(width.saturating_sub(2)).max(1);
            let all = lines.iter().flat_map(|line| wrap_indented(line, room));
            self.lines = Arc::new(all.collect());
        }
    }
}

/// A page and the window on it.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it shows.
    pub kind: PageKind,
    /// Its text.
    pub content: PageContent,
    /// The line in the first row of the window.
    pub offset: usize,
    /// Rows of the window.
    pub height: usize,
}

impl Page {
    /// A page, at its top.
    pub fn new(kind: PageKind) -> Self {
        Self {
            kind,
            content: PageContent::default(),
            offset: 0,
            height: 0,
        }
    }

    /// Moves the window by so many lines.
    pub fn scroll(&mut self, lines: isize) {
        self.offset = self.offset.saturating_add_signed(lines);
        self.clamp_offset();
    }

    /// Keeps the window on the text.
    pub fn clamp_offset(&mut self) {
        let most = self.content.len().saturating_sub(self.height);
        self.offset = self.offset.min(most);
    }
}
