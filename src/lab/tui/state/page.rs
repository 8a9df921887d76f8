//! A page of text over a view: details, a description, YAML, an explanation, messages, help.

use std::sync::Arc;

use ratatui::text::Line;

use super::{PageSearch, RowId};
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

    /// Whether a line has a match of a search.
    fn line_matches(&self, line: usize, search: &PageSearch) -> bool {
        match self {
            PageContent::Live(lines) => lines
                .get(line)
                .is_some_and(|line| search.is_match(&line.to_string())),
            PageContent::Fetched(_, wrapped) => {
                let line = wrapped.lines.get(line);
                line.is_some_and(|line| search.is_match(line))
            }
            PageContent::Loading | PageContent::Failed(_) => false,
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
            let max_width = usize::from(width.saturating_sub(2)).max(1);
            let all = lines.iter().flat_map(|line| wrap_indented(line, max_width));
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
    /// What is searched in the text.
    pub search: Option<PageSearch>,
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
            search: None,
            offset: 0,
            height: 0,
        }
    }

    /// Scrolls the window; positive is down.
    pub(crate) fn scroll(&mut self, lines: isize) {
        self.offset = self.offset.saturating_add_signed(lines);
        self.clamp_offset();
    }

    /// Indices of the lines with a match of the search, in order.
    pub(crate) fn matching_lines(&self) -> impl Iterator<Item = usize> + '_ {
        let search = self.search.as_ref();
        (0..self.content.line_count())
            .filter(move |line| search.is_some_and(|s| self.content.line_matches(*line, s)))
    }

    /// Goes to the next matching line, or the previous one; at the end it continues from the other end.
    /// It starts at the match that was gone to, or at the window if that is not visible. `false` if nothing
    /// matches.
    pub(crate) fn scroll_to_match(&mut self, forward: bool) -> bool {
        let window = self.offset..self.offset + self.height.max(1);
        let current = self.search.as_ref().and_then(|search| search.line);
        let current = current.filter(|line| window.contains(line));
        let lines: Vec<usize> = self.matching_lines().collect();
        let found = if forward {
            let from = current.map_or(window.start, |line| line + 1);
            lines.iter().find(|at| **at >= from).or(lines.first())
        } else {
            let to = current.unwrap_or(window.end);
            lines.iter().rfind(|at| **at < to).or(lines.last())
        };
        let Some(&line) = found else { return false };
        if let Some(search) = &mut self.search {
            search.line = Some(line);
        }
        if !window.contains(&line) {
            self.offset = line;
            self.clamp_offset();
        }
        true
    }

    /// Keeps the window within the text.
    pub(crate) fn clamp_offset(&mut self) {
        let most = self.content.line_count().saturating_sub(self.height);
        self.offset = self.offset.min(most);
    }
}
