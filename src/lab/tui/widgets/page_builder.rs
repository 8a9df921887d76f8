//! Builder of pages: sections, fields, paragraphs and tables.

use ratatui::text::{Line, Span};

use super::table_columns::{TableCell, TableColumns};
use crate::glyphs::Glyphs;
use crate::model::condition::Conditions;
use crate::state::State;
use crate::text::{clock_time, pad, sanitize, width, wrap};
use crate::theme::Role;
use kueue_lab_preemption_loops::DetectedLoop;

/// Columns of a label.
const LABEL_WIDTH: usize = 13;

/// The columns of a label with the blank after it.
fn label_columns(label: &str) -> usize {
    LABEL_WIDTH.max(width(label) + 1)
}

/// A builder of a page.
pub(crate) struct PageBuilder<'a> {
    state: &'a State,
    width: usize,
    lines: Vec<Line<'static>>,
    /// The glyphs.
    pub glyphs: &'static Glyphs,
}

impl<'a> PageBuilder<'a> {
    pub(crate) fn new(state: &'a State, width: u16) -> Self {
        Self {
            state,
            width: usize::from(width.saturating_sub(2)).max(1),
            lines: Vec::new(),
            glyphs: state.env.glyphs,
        }
    }

    pub(crate) fn finish(self) -> Vec<Line<'static>> {
        self.lines
    }

    /// The `kubectl` command line for the cluster.
    pub(crate) fn kubectl_command(&self) -> Option<String> {
        self.state.env.kubectl_command.as_deref().map(sanitize)
    }

    /// Columns of a line.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn span(&self, text: impl Into<String>, role: Role) -> Span<'static> {
        Span::styled(text.into(), self.state.env.theme.style(role))
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, spans: Vec<Span<'static>>) {
        self.lines.push(Line::from(spans));
    }

    /// Adds an empty line, unless the page is empty.
    pub(crate) fn blank(&mut self) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
    }

    /// Adds a heading after an empty line.
    pub(crate) fn section(&mut self, title: &str) {
        self.blank();
        let span = self.span(title, Role::Title);
        self.line(vec![span]);
    }

    /// Adds a loop of scheduling attempts.
    pub(crate) fn scheduling_loop(&mut self, found: &DetectedLoop) {
        self.field("Loop", &found.to_string(), Role::Error);
        self.field("", found.remedy(), Role::Dim);
    }

    /// Adds a paragraph.
    pub(crate) fn text(&mut self, text: &str, role: Role) {
        for line in wrap(text, self.width) {
            let span = self.span(line, role);
            self.line(vec![span]);
        }
    }

    /// Adds a paragraph indented by two columns.
    pub(crate) fn indented(&mut self, text: &str, role: Role) {
        for line in wrap(text, self.width.saturating_sub(2)) {
            let span = self.span(format!("  {line}"), role);
            self.line(vec![span]);
        }
    }

    /// Adds a label with a value, which is wrapped.
    pub(crate) fn field(&mut self, label: &str, value: &str, role: Role) {
        let columns = label_columns(label);
        let max_width = self.width.saturating_sub(columns).max(8);
        for (n, line) in wrap(value, max_width).into_iter().enumerate() {
            let label = if n == 0 { label } else { "" };
            let label = self.span(pad(label, columns, false), Role::Dim);
            let value = self.span(line, role);
            self.line(vec![label, value]);
        }
    }

    /// Adds a label with spans on one line.
    pub(crate) fn field_of(&mut self, label: &str, spans: Vec<Span<'static>>) {
        let label = pad(label, label_columns(label), false);
        let mut line = vec![self.span(label, Role::Dim)];
        line.extend(spans);
        self.line(line);
    }

    /// Adds a table of at most `most` items; only those are converted to cells.
    pub(crate) fn list<T>(
        &mut self,
        titles: &[&str],
        mut things: impl Iterator<Item = T>,
        most: usize,
        cells: impl Fn(T) -> Vec<TableCell>,
    ) {
        let rows: Vec<_> = things.by_ref().take(most).map(cells).collect();
        self.table(titles, &rows);
        let more = things.count();
        if more > 0 {
            self.text(&format!("and {more} more"), Role::Dim);
        }
    }

    /// Adds a table. Columns whose title begins with `>` are aligned to the right. In a table wider than
    /// the page the widest column of names is truncated, and the last column is wrapped.
    pub(crate) fn table(&mut self, titles: &[&str], rows: &[Vec<TableCell>]) {
        let columns = TableColumns::new(titles, rows, self.width);
        let head: Vec<TableCell> = titles
            .iter()
            .map(|title| (title.trim_start_matches('>').to_owned(), Role::Dim))
            .collect();
        for row in std::iter::once(&head).chain(rows) {
            for line in columns.lines(row, self.glyphs.ellipsis) {
                let spans = line.into_iter().map(|(text, role)| self.span(text, role));
                let spans = spans.collect();
                self.line(spans);
            }
        }
    }

    /// Adds the note that the object is gone.
    pub(crate) fn not_found(&mut self, kind: &str, name: &str) {
        self.text(&format!("{kind} {name} is gone."), Role::Warning);
    }

    /// Adds a table of conditions, the latest transition first.
    pub(crate) fn conditions(&mut self, conds: &Conditions) {
        let all = conds.latest_first();
        if all.is_empty() {
            return;
        }
        self.section("Conditions, latest change first");
        let mut previous = String::new();
        for c in all {
            let role = match (c.type_.as_str(), c.status.as_str()) {
                ("Evicted" | "Preempted" | "DeactivationTarget", "True") => Role::Warning,
                (_, "True") => Role::Success,
                ("Evicted" | "Preempted" | "Finished", _) => Role::Dim,
                _ => Role::Waiting,
            };
            let time = clock_time(c.at, &self.state.env.zone);
            let head = vec![
                self.span(format!("{time}  "), Role::Dim),
                self.span(format!("{}={}", c.type_, c.status), role),
                self.span(format!("  {}", c.reason), Role::Bold),
            ];
            self.line(head);
            if c.message == previous && !previous.is_empty() {
                let span = self.span("          the same message", Role::Dim);
                self.line(vec![span]);
            } else if !c.message.is_empty() {
                let max_width = self.width.saturating_sub(10);
                for line in wrap(&c.message, max_width) {
                    let span = self.span(format!("          {line}"), Role::Text);
                    self.line(vec![span]);
                }
            }
            previous.clone_from(&c.message);
        }
    }

    /// Adds Events about an object, newest first.
    pub(crate) fn events(&mut self, kind: &str, key: &crate::model::ObjectKey, most: usize) {
        let state = self.state;
        let mut about = state.data.events.events_for(kind, key).peekable();
        if about.peek().is_none() {
            return;
        }
        self.section(&format!("Events of the {kind}, newest first"));
        for e in about.take(most) {
            let time = clock_time(e.at, &state.env.zone);
            let role = if e.warning { Role::Error } else { Role::Bold };
            let kind = if e.warning { "Warning " } else { "" };
            let times = if e.count > 1 {
                format!(" x{}", e.count)
            } else {
                String::new()
            };
            let head = vec![
                self.span(format!("{time}  "), Role::Dim),
                self.span(format!("{kind}{}{times}", e.reason), role),
                self.span(format!("  {}", e.source), Role::Dim),
            ];
            self.line(head);
            let max_width = self.width.saturating_sub(10);
            for line in wrap(&e.message, max_width) {
                let span = self.span(format!("          {line}"), Role::Text);
                self.line(vec![span]);
            }
        }
    }
}
