//! Fields: the words that result from an expansion, with their quotes.

use kueue_lab_shell::pattern;

use super::glob;
use crate::filesystem::FileSystem;

/// Builds the fields of a word.
pub(super) struct Fields {
    separators: String,
    /// Finished fields, as patterns.
    done: Vec<String>,
    /// The field that is being built, as a pattern.
    open: Option<String>,
}

impl Fields {
    /// Fields separated by the characters of `IFS`.
    pub(super) fn new(separators: String) -> Self {
        Self {
            separators,
            done: Vec::new(),
            open: None,
        }
    }

    /// Adds quoted text.
    pub(super) fn quoted(&mut self, text: &str) {
        let open = self.open.get_or_insert_default();
        open.push_str(&pattern::quote(text));
    }

    /// Adds text in which patterns are active.
    pub(super) fn literal(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
    }

    /// Adds the result of an unquoted expansion, which is divided at separators.
    pub(super) fn split(&mut self, text: &str) {
        let is_one_field =
            !text.contains('\\') && !self.separators.chars().any(|c| text.contains(c));
        if is_one_field {
            if !text.is_empty() {
                self.literal(text);
            }
            return;
        }
        for c in text.chars() {
            match self.separators.contains(c) {
                true => {
                    if c.is_whitespace() {
                        self.done.extend(self.open.take());
                    } else {
                        self.done.push(self.open.take().unwrap_or_default());
                    }
                }
                false => {
                    let open = self.open.get_or_insert_default();
                    if c == '\\' {
                        open.push('\\');
                    }
                    open.push(c);
                }
            }
        }
    }

    /// Ends the open field.
    pub(super) fn end_field(&mut self) {
        self.done.extend(self.open.take());
    }

    /// The fields as text, after pathname expansion.
    pub(super) fn finish(
        mut self,
        files: &FileSystem,
        directory: &str,
        noglob: bool,
    ) -> Vec<String> {
        self.end_field();
        let mut words = Vec::with_capacity(self.done.len());
        for field in self.done {
            let paths = match !noglob && pattern::is_pattern(&field) {
                true => glob::expand(files, directory, &field),
                false => Vec::new(),
            };
            match paths.is_empty() {
                true => words.push(pattern::unquote(&field)),
                false => words.extend(paths),
            }
        }
        words
    }
}
