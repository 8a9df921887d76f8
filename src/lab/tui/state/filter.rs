//! Filters in the syntax of `k9s`: `message`, `!text`, `-l label=value`, `-f fuzzy`.

use std::cell::RefCell;
use std::sync::Arc;

use kube::core::{Expression, Selector, SelectorExt};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use regex::{Regex, RegexBuilder};

use crate::model::meta::Labels;

/// The size limit of a compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

/// A filter.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// The text.
    pub text: String,
    test: Arc<FilterExpression>,
}

/// Why a filter is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FilterError {
    /// An invalid label selector.
    #[error(
        "not a label selector: {0:?}; write -l label=value, -l label!=value, -l label or -l !label"
    )]
    Labels(String),
}

#[derive(Debug)]
enum FilterExpression {
    Pattern { regex: Regex, inverse: bool },
    Labels(Selector),
    Fuzzy(Pattern),
}

thread_local! {
    static MATCHER: RefCell<Matcher> = RefCell::new(Matcher::new(Config::DEFAULT));
}

impl Filter {
    /// Parses a filter; `None` for an empty text.
    ///
    /// # Errors
    /// The label selector is invalid. Other text is always valid: text that is not a regular
    /// expression is matched literally.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, FilterError> {
        let text = text.trim();
        let test = if text.is_empty() || text == "!" || text == "-l" || text == "-f" {
            return Ok(None);
        } else if let Some(labels) = text.strip_prefix("-l") {
            FilterExpression::Labels(selector(labels)?)
        } else if let Some(fuzzy) = text.strip_prefix("-f") {
            FilterExpression::Fuzzy(Pattern::parse(
                fuzzy.trim(),
                CaseMatching::Smart,
                Normalization::Smart,
            ))
        } else {
            let (inverse, pattern) = match text.strip_prefix('!') {
                Some(rest) => (true, rest.trim_start()),
                None => (false, text),
            };
            let Some(regex) = compile_pattern(pattern) else {
                return Ok(None);
            };
            FilterExpression::Pattern { regex, inverse }
        };
        Ok(Some(Self {
            text: text.to_owned(),
            test: Arc::new(test),
        }))
    }

    /// Whether a row with this text and these labels matches.
    pub(crate) fn matches(&self, text: &str, labels: &Labels) -> bool {
        match &*self.test {
            FilterExpression::Pattern { regex, inverse } => regex.is_match(text) != *inverse,
            FilterExpression::Labels(selector) => selector.matches(labels),
            FilterExpression::Fuzzy(pattern) => MATCHER.with_borrow_mut(|matcher| {
                let mut buffer = Vec::new();
                pattern
                    .score(Utf32Str::new(text, &mut buffer), matcher)
                    .is_some()
            }),
        }
    }
}

/// Compiles the pattern as a regular expression, or else literally. It is case-sensitive if it has
/// an upper-case letter.
pub(super) fn compile_pattern(pattern: &str) -> Option<Regex> {
    let case_sensitive = pattern.chars().any(char::is_uppercase);
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .case_insensitive(!case_sensitive)
            .size_limit(PATTERN_LIMIT)
            .build()
            .ok()
    };
    build(pattern).or_else(|| build(&regex::escape(pattern)))
}

/// Parses `a=b,c!=d,e,!f`.
fn selector(text: &str) -> Result<Selector, FilterError> {
    let mut selector = Selector::default();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let one = |value: &str| [value.trim().to_owned()].into();
        let expression = if let Some((key, value)) = part.split_once("!=") {
            Expression::NotIn(key.trim().to_owned(), one(value))
        } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            Expression::In(key.trim().to_owned(), one(value))
        } else if let Some(key) = part.strip_prefix('!') {
            Expression::DoesNotExist(key.trim().to_owned())
        } else {
            Expression::Exists(part.to_owned())
        };
        let key = match &expression {
            Expression::In(key, _) | Expression::NotIn(key, _) => key,
            Expression::Exists(key) | Expression::DoesNotExist(key) => key,
            _ => return Err(FilterError::Labels(part.to_owned())),
        };
        if key.is_empty() || key.contains([' ', '(', ')', '=', '!']) {
            return Err(FilterError::Labels(part.to_owned()));
        }
        selector.extend([expression]);
    }
    Ok(selector)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passes(filter: &str, text: &str) -> bool {
        let labels = [("team".to_owned(), "a".to_owned())].into();
        Filter::parse(filter)
            .unwrap()
            .is_none_or(|f| f.matches(text, &labels))
    }

    #[test]
    fn lower_case_patterns_ignore_case() {
        assert!(passes("job", "default/Job-1"));
        assert!(!passes("Job", "default/job-1"));
        assert!(passes("job-[12]$", "default/job-1"));
        assert!(passes("job-[", "default/job-[x"));
    }

    #[test]
    fn an_exclamation_mark_inverts_the_filter() {
        assert!(!passes("!job", "default/job-1"));
        assert!(passes("!job", "default/pod-1"));
        assert!(passes("!", "anything"));
    }

    #[test]
    fn labels_select() {
        assert!(passes("-l team=a", "x"));
        assert!(passes("-l team,!other", "x"));
        assert!(!passes("-l team!=a", "x"));
        assert!(Filter::parse("-l =b").is_err());
        assert!(Filter::parse("-l team in (a)").is_err());
    }

    #[test]
    fn fuzzy_needs_the_letters_in_order() {
        assert!(passes("-f dfj1", "default/job-1"));
        assert!(!passes("-f 1jfd", "default/job-1"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter(text in "\\PC{0,40}", row in "\\PC{0,40}") {
            if let Ok(Some(filter)) = Filter::parse(&text) {
                filter.matches(&row, &Labels::new());
            }
        }
    }
}
