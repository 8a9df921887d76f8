//! A page of text over a view: details, a description, YAML, an explanation, messages, help.

use std::sync::Arc;

use ratatui::text::Line;

use super::RowId;
use crate::actions::ObjectRef;
use crate::model::Key;
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
    Explain(Key),
    /// All messages.
    Notes,
    /// The keys and commands.
    Help,
}

/// The text of a page.
#[derive(Clone, Debug, Default)]
pub enum Content {
    /// Lines made from the state; made again when it changes.
    Live(Vec<Line<'static>>),
    /// Asked for, not there yet.
    #[default]
    Awaited,
    /// Plain lines that were fetched, and the same as the page shows them.
    Fetched(Arc<Vec<String>>, Broken),
    /// Why there is nothing.
    Failed(String),
}

impl Content {
    /// How many lines there are.
    pub fn len(&self) -> usize {
        match self {
            Content::Live(lines) => lines.len(),
            Content::Fetched(_, broken) => broken.lines.len(),
            Content::Awaited | Content::Failed(_) => 1,
        }
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Lines broken to fit a width.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    width: u16,
    /// The lines.
    pub lines: Arc<Vec<String>>,
}

impl Broken {
    /// Breaks the lines anew, unless they are for that width already.
    pub fn fit(&mut self, lines: &[String], width: u16) {
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
    pub content: Content,
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
            content: Content::default(),
            offset: 0,
            height: 0,
        }
    }

    /// Moves the window by so many lines.
    pub fn scroll(&mut self, lines: isize) {
        self.offset = self.offset.saturating_add_signed(lines);
        self.settle();
    }

    /// Keeps the window on the text.
    pub fn settle(&mut self) {
        let most = self.content.len().saturating_sub(self.height);
        self.offset = self.offset.min(most);
    }
}
