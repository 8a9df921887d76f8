//! The search in the text of a page.

use std::ops::Range;

use regex::Regex;

use super::filter::compile_pattern;

/// A searched pattern.
#[derive(Clone, Debug)]
pub(crate) struct PageSearch {
    /// The text as it was typed.
    pub text: String,
    /// The line of the match that was gone to.
    pub line: Option<usize>,
    pattern: Regex,
}

impl PageSearch {
    /// A search for a regular expression, or for the literal text if it is none; `None` for an empty
    /// text. It is case-sensitive if the text has an upper-case letter.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let pattern = compile_pattern(text)?;
        Some(Self {
            text: text.to_owned(),
            line: None,
            pattern,
        })
    }

    /// Whether a line has a match.
    pub(crate) fn is_match(&self, line: &str) -> bool {
        self.ranges(line).next().is_some()
    }

    /// The byte ranges of the matches in a line. Empty matches are none.
    pub(crate) fn ranges<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let found = self.pattern.find_iter(line).map(|found| found.range());
        found.filter(|range| !range.is_empty())
    }
}
