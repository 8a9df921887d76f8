//! A page of text over a view: details, a description, YAML, an explanation, messages, help.

use std::sync::Arc;

use ratatui::text::Line;

use super::RowId;
use crate::model::{ObjectKey, ObjectRef};
use crate::text::wrap_indented;

/// What a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Details of the row of the page, from watched objects.
    Details,
    /// An object as `kubectl describe` shows it.
    Describe(ObjectRef),
    /// An object as YAML.
    Yaml(ObjectRef),
    /// Why a Workload is not admitted.
    Explain(ObjectKey),
    /// All messages.
    Notifications,
    /// The keys and commands.
    Help,
}

/// The text of a page.
#[derive(Clone, Debug, Default)]
pub(crate) enum PageContent {
    /// Lines made from the state, again on each refresh.
    Live(Vec<Line<'static>>),
    /// Being loaded.
    #[default]
    Loading,
    /// Loaded lines, and the same wrapped.
    Fetched(Arc<Vec<String>>, WrappedLines),
    /// The error of loading.
    Failed(String),
}

impl PageContent {
    /// The number of lines.
    pub(crate) fn line_count(&self) -> usize {
        match self {
            PageContent::Live(lines) => lines.len(),
            PageContent::Fetched(_, wrapped) => wrapped.lines.len(),
            PageContent::Loading | PageContent::Failed(_) => 1,
        }
    }
}

/// Lines wrapped to a width.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrappedLines {
    width: u16,
    /// The lines.
    pub lines: Arc<Vec<String>>,
}

impl WrappedLines {
    /// Wraps the lines, unless they are wrapped to that width already.
    pub(crate) fn wrap_to(&mut self, lines: &[String], width: u16) {
        if self.width != width {
            self.width = width;
            let room = usize::from(width.saturating_sub(2)).max(1);
            let all = lines.iter().flat_map(|line| wrap_indented(line, room));
            self.lines = Arc::new(all.collect());
        }
    }
}

/// A page and its window.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// What it shows.
    pub kind: PageKind,
    /// The row it is about.
    pub row: Option<RowId>,
    /// Its text.
    pub content: PageContent,
    /// Index of the first line in the window.
    pub offset: usize,
    /// Rows of the window.
    pub height: usize,
}

impl Page {
    /// A page scrolled to the top.
    pub(crate) fn new(kind: PageKind, row: Option<RowId>) -> Self {
        Self {
            kind,
            row,
            content: PageContent::default(),
            offset: 0,
            height: 0,
        }
    }

    /// Scrolls the window; positive is down.
    pub(crate) fn scroll(&mut self, lines: isize) {
        self.offset = self.offset.saturating_add_signed(lines);
        self.clamp_offset();
    }

    /// Keeps the window within the text.
    pub(crate) fn clamp_offset(&mut self) {
        let most = self.content.line_count().saturating_sub(self.height);
        self.offset = self.offset.min(most);
    }
}
