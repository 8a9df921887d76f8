//! Sanitizing of text from objects: it must not control the terminal or reorder characters.

/// The most characters of a text.
const MAX_CHARS: usize = 4096;

/// The text on one line, without control, zero-width and bidirectional characters. Line breaks with
/// surrounding white space become single blanks; text is cut after 4096 characters.
pub(crate) fn sanitize(text: &str) -> String {
    if text.len() <= MAX_CHARS && text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len().min(MAX_CHARS));
    for c in text.chars().filter_map(shown).take(MAX_CHARS) {
        if c == '\n' {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The lines of a text, each sanitized as by [`sanitize`], with tabs as two blanks: at most `limit`
/// lines and one with the number of omitted lines.
pub(crate) fn sanitize_lines(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .take(limit)
        .map(|line| sanitize(&line.replace('\t', "  ")))
        .collect();
    let left_out = text.lines().skip(limit).count();
    if left_out > 0 {
        lines.push(format!("... {left_out} more lines"));
    }
    lines
}

/// The replacement of a character; `None` to drop it.
fn shown(c: char) -> Option<char> {
    match c {
        '\n' | '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => Some('\n'),
        '\t' => Some(' '),
        c if c.is_control() => None,
        // Zero width, joiners, direction marks, and variation selectors, whose width differs between
        // terminals.
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}' => None,
        c => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_lose_their_escape() {
        assert_eq!(sanitize("a\u{1b}[31mred\u{7}"), "a[31mred");
        assert_eq!(sanitize("\u{9b}2J"), "2J");
    }

    #[test]
    fn line_breaks_become_one_blank() {
        assert_eq!(sanitize("one\r\n two\nthree"), "one  two three");
        assert_eq!(sanitize("a\n\n\nb"), "a b");
    }

    #[test]
    fn direction_marks_are_dropped() {
        assert_eq!(sanitize("abc\u{202e}cba"), "abccba");
    }

    #[test]
    fn long_documents_are_cut_with_a_note() {
        assert_eq!(sanitize_lines("a\nb\nc", 2), ["a", "b", "... 1 more lines"]);
    }

    proptest! {
        #[test]
        fn control_characters_are_removed(text in "\\PC*|[\\x00-\\x1f\\x7f-\\u{9f}a]*") {
            let out = sanitize(&text);
            prop_assert!(out.chars().all(|c| !c.is_control()));
            prop_assert!(out.chars().count() <= MAX_CHARS);
            prop_assert_eq!(sanitize(&out), out);
        }
    }
}
