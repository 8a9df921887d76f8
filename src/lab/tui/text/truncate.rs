//! Width, truncation and wrapping of text, in terminal columns.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `max_width` columns; truncated text ends in `mark`.
pub(crate) fn truncate<'a>(text: &'a str, max_width: usize, mark: &str) -> Cow<'a, str> {
    if width(text) <= max_width {
        return Cow::Borrowed(text);
    }
    let mark_width = width(mark);
    if max_width <= mark_width {
        return Cow::Owned(head(text, max_width).to_owned());
    }
    let kept = head(text, max_width - mark_width);
    Cow::Owned(format!("{kept}{mark}"))
}

/// The text in at most `max_width` columns, truncated in the middle with `mark`: the end of a Kubernetes
/// name distinguishes it as much as the start.
pub(crate) fn truncate_middle<'a>(text: &'a str, max_width: usize, mark: &str) -> Cow<'a, str> {
    if width(text) <= max_width {
        return Cow::Borrowed(text);
    }
    let mark_width = width(mark);
    if max_width < mark_width + 4 {
        return truncate(text, max_width, mark);
    }
    let tail_width = (max_width - mark_width) / 3;
    let first = head(text, max_width - mark_width - tail_width);
    let last = tail(text, tail_width);
    Cow::Owned(format!("{first}{mark}{last}"))
}

/// The text padded to `max_width` columns; `right` aligns it to the right.
pub(crate) fn pad(text: &str, max_width: usize, right: bool) -> String {
    let blanks = max_width.saturating_sub(width(text));
    if right {
        format!("{}{text}", " ".repeat(blanks))
    } else {
        format!("{text}{}", " ".repeat(blanks))
    }
}

/// The text wrapped at blanks to lines of at most `max_width` columns; longer words are split.
pub(crate) fn wrap(text: &str, max_width: usize) -> Vec<String> {
    if max_width == 0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for mut word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= max_width {
            if gap == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > max_width {
            let first = head(word, max_width);
            // A character wider than the line is dropped.
            if first.is_empty() {
                return lines;
            }
            word = &word[first.len()..];
            lines.push(first.to_owned());
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The longest prefix that fits.
fn head(text: &str, max_width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > max_width {
            return &text[..at];
        }
    }
    text
}

/// The longest suffix that fits.
fn tail(text: &str, max_width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > max_width {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

/// Where a word that is longer than a line is divided: behind these characters.
const BREAKS: [char; 8] = ['.', '/', ']', '}', ',', ':', '=', '-'];

/// As [`wrap`], but a longer word begins on the line before and is divided behind a punctuation mark, if there is
/// one: paths of fields and JSON have no blanks.
fn wrap_paths(text: &str, max_width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for mut word in text.split(' ') {
        loop {
            let gap = usize::from(!line.is_empty());
            let left = max_width.saturating_sub(width(&line) + gap);
            if width(word) <= left {
                break;
            }
            let is_long = width(word) > max_width;
            let first = match is_long {
                true => divided(word, left),
                false => "",
            };
            let first = match (first, line.is_empty()) {
                ("", true) => head(word, max_width),
                (first, _) => first,
            };
            if first.is_empty() && line.is_empty() {
                // A character wider than the line is dropped.
                return lines;
            }
            if !first.is_empty() && gap == 1 {
                line.push(' ');
            }
            line.push_str(first);
            word = &word[first.len()..];
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() && !word.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The longest beginning of a word that fits and ends in a punctuation mark; empty without one.
fn divided(word: &str, max_width: usize) -> &str {
    let fits = head(word, max_width);
    fits.rfind(BREAKS).map_or("", |at| &fits[..=at])
}

/// A line of an indented document, wrapped; continuation lines are indented by two more columns.
pub(crate) fn wrap_indented(line: &str, max_width: usize) -> Vec<String> {
    if width(line) <= max_width {
        return vec![line.to_owned()];
    }
    let body = line.trim_start_matches(' ');
    let lead = (line.len() - body.len()).min(max_width / 2);
    let parts = wrap_paths(body, max_width.saturating_sub(lead + 2).max(1));
    let indented = parts.into_iter().enumerate().map(|(n, part)| {
        let more = if n == 0 { 0 } else { 2 };
        format!("{}{part}", " ".repeat(lead + more))
    });
    indented.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_keep_both_ends() {
        assert_eq!(
            truncate_middle("pod-job1-2ea4-head-52a69", 16, "…"),
            "pod-job1-2…52a69"
        );
        assert_eq!(truncate("pending evaluation", 8, "…"), "pending…");
        assert_eq!(truncate("abc", 3, "…"), "abc");
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(width("漢字"), 4);
        assert_eq!(truncate("漢字漢字", 5, "…"), "漢字…");
    }

    #[test]
    fn words_wrap_and_long_words_break() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
    }

    proptest! {
        #[test]
        fn no_line_exceeds_the_maximum_width(text in "\\PC{0,60}", max_width in 0usize..40) {
            let text = super::super::sanitize(&text);
            prop_assert!(width(&truncate(&text, max_width, "…")) <= max_width);
            prop_assert!(width(&truncate_middle(&text, max_width, "..")) <= max_width);
            for line in wrap(&text, max_width) {
                prop_assert!(width(&line) <= max_width.max(1));
            }
        }
    }

    #[test]
    fn paths_begin_on_the_line_of_their_sign_and_are_divided_at_punctuation() {
        assert_eq!(
            wrap_indented(
                "    ~ spec.resourceGroups[0].flavors[plain].resources[cpu].nominalQuota: 0 -> 4",
                40
            ),
            [
                "    ~ spec.resourceGroups[0].",
                "      flavors[plain].resources[cpu].",
                "      nominalQuota: 0 -> 4",
            ]
        );
        // No word is divided that fits on a line.
        assert_eq!(
            wrap_indented("  a note on default/job-two-1f0c2 here", 25),
            ["  a note on", "    default/job-two-1f0c2", "    here"]
        );
    }

    proptest! {
        #[test]
        fn no_line_of_an_indented_document_is_wider(text in "[a-z./: ~-]{0,80}", max_width in 8usize..40) {
            let lines = wrap_indented(&text, max_width);
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
            for line in lines {
                prop_assert!(width(&line) <= max_width, "{line:?}");
            }
        }
    }

    #[test]
    fn continuation_lines_are_indented() {
        assert_eq!(wrap_indented("  short", 20), ["  short"]);
        assert_eq!(
            wrap_indented("  message: one two three", 14),
            ["  message:", "    one two", "    three"]
        );
    }
}
