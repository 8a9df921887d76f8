//! Width, truncation and wrapping of text, in terminal columns.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `room` columns; truncated text ends in `mark`.
pub(crate) fn truncate<'a>(text: &'a str, room: usize, mark: &str) -> Cow<'a, str> {
    if width(text) <= room {
        return Cow::Borrowed(text);
    }
    let mark_width = width(mark);
    if room <= mark_width {
        return Cow::Owned(head(text, room).to_owned());
    }
    let kept = head(text, room - mark_width);
    Cow::Owned(format!("{kept}{mark}"))
}

/// The text in at most `room` columns, truncated in the middle with `mark`: the end of a Kubernetes
/// name distinguishes it as much as the start.
pub(crate) fn truncate_middle<'a>(text: &'a str, room: usize, mark: &str) -> Cow<'a, str> {
    if width(text) <= room {
        return Cow::Borrowed(text);
    }
    let mark_width = width(mark);
    if room < mark_width + 4 {
        return truncate(text, room, mark);
    }
    let tail_room = (room - mark_width) / 3;
    let first = head(text, room - mark_width - tail_room);
    let last = tail(text, tail_room);
    Cow::Owned(format!("{first}{mark}{last}"))
}

/// The text padded to `room` columns; `right` aligns it to the right.
pub(crate) fn pad(text: &str, room: usize, right: bool) -> String {
    let blanks = room.saturating_sub(width(text));
    if right {
        format!("{}{text}", " ".repeat(blanks))
    } else {
        format!("{text}{}", " ".repeat(blanks))
    }
}

/// The text wrapped at blanks to lines of at most `room` columns; longer words are split.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    if room == 0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for mut word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= room {
            if gap == 1 {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > room {
            let first = head(word, room);
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
fn head(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > room {
            return &text[..at];
        }
    }
    text
}

/// The longest suffix that fits.
fn tail(text: &str, room: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > room {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

/// A line of an indented document, wrapped; continuation lines are indented by two more columns.
pub(crate) fn wrap_indented(line: &str, room: usize) -> Vec<String> {
    if width(line) <= room {
        return vec![line.to_owned()];
    }
    let body = line.trim_start_matches(' ');
    let lead = (line.len() - body.len()).min(room / 2);
    let parts = wrap(body, room.saturating_sub(lead + 2).max(1));
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
        fn nothing_exceeds_its_room(text in "\\PC{0,60}", room in 0usize..40) {
            let text = super::super::sanitize(&text);
            prop_assert!(width(&truncate(&text, room, "…")) <= room);
            prop_assert!(width(&truncate_middle(&text, room, "..")) <= room);
            for line in wrap(&text, room) {
                prop_assert!(width(&line) <= room.max(1));
            }
        }
    }

    #[test]
    fn lines_that_go_on_stand_further_in() {
        assert_eq!(wrap_indented("  short", 20), ["  short"]);
        assert_eq!(
            wrap_indented("  message: one two three", 14),
            ["  message:", "    one two", "    three"]
        );
    }
}
