//! Patterns: `*`, `?`, `[...]`; a backslash quotes the next character.

use regex::{NoExpand, Regex, RegexBuilder};

/// Maximum size of a compiled expression, in bytes.
const EXPRESSION: usize = 1 << 20;

/// Whether a pattern matches a text completely.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    matches_chars(&pattern, &text)
}

/// Matches with one point to go back to, the last `*`; linear in the product of the lengths.
fn matches_chars(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            back = Some((p + 1, t));
            p += 1;
            continue;
        }
        if let Some(length) = matches_one(&pattern[p..], text[t]) {
            p += length;
            t += 1;
            continue;
        }
        let Some((after, from)) = back else {
            return false;
        };
        back = Some((after, from + 1));
        (p, t) = (after, from + 1);
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The length of the pattern's first element if it matches a character.
fn matches_one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        [] => None,
        ['?', ..] => Some(1),
        ['\\', quoted, ..] => (*quoted == c).then_some(2),
        ['[', rest @ ..] => match bracket(rest, c) {
            Some((found, length)) => found.then_some(length + 1),
            None => (c == '[').then_some(1),
        },
        [literal, ..] => (*literal == c).then_some(1),
    }
}

/// Whether a bracket expression matches, and its length after the bracket.
fn bracket(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.first(), Some('!' | '^'));
    let begin = usize::from(negated);
    let mut at = begin;
    let mut found = false;
    loop {
        let first = *pattern.get(at)?;
        if first == ']' && at > begin {
            return Some((found != negated, at + 1));
        }
        if first == '[' && pattern.get(at + 1) == Some(&':') {
            let rest = &pattern[at + 2..];
            let end = rest.windows(2).position(|pair| pair == [':', ']'])?;
            let class: String = rest[..end].iter().collect();
            found |= in_class(&class, c);
            at += end + 4;
            continue;
        }
        let (first, length) = match (first, pattern.get(at + 1)) {
            ('\\', Some(quoted)) => (*quoted, 2),
            _ => (first, 1),
        };
        at += length;
        match (pattern.get(at), pattern.get(at + 1)) {
            (Some('-'), Some(last)) if *last != ']' => {
                found |= (first..=*last).contains(&c);
                at += 2;
            }
            _ => found |= first == c,
        }
    }
}

fn in_class(class: &str, c: char) -> bool {
    match class {
        "alnum" => c.is_alphanumeric(),
        "alpha" => c.is_alphabetic(),
        "digit" => c.is_ascii_digit(),
        "lower" => c.is_lowercase(),
        "upper" => c.is_uppercase(),
        "space" => c.is_whitespace(),
        "punct" => c.is_ascii_punctuation(),
        _ => false,
    }
}

/// The regular expression of a pattern. Its repetitions are greedy or lazy.
fn expression(pattern: &str, greedy: bool) -> String {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = pattern.get(at) {
        at += 1;
        match c {
            '*' if greedy => out.push_str(".*"),
            '*' => out.push_str(".*?"),
            '?' => out.push('.'),
            '\\' => {
                // One at the end is a character.
                let quoted = pattern.get(at).unwrap_or(c);
                out.push_str(&regex::escape(&quoted.to_string()));
                at += 1;
            }
            '[' => match bracket(&pattern[at..], ' ') {
                Some((_, length)) => {
                    out.push_str(&bracket_expression(&pattern[at..at + length - 1]));
                    at += length;
                }
                None => out.push_str("\\["),
            },
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out
}

/// The regular expression of the text between brackets.
fn bracket_expression(text: &[char]) -> String {
    let mut out = String::from("[");
    let negated = matches!(text.first(), Some('!' | '^'));
    if negated {
        out.push('^');
    }
    let mut at = usize::from(negated);
    while let Some(c) = text.get(at) {
        let is_class = *c == '[' && text.get(at + 1) == Some(&':');
        let class = text[at..].windows(2).position(|pair| pair == [':', ']']);
        if let (true, Some(length)) = (is_class, class) {
            out.extend(&text[at..at + length + 2]);
            at += length + 2;
            continue;
        }
        let is_range = *c == '-' && at > usize::from(negated) && at + 1 < text.len();
        let literal = match (c, text.get(at + 1)) {
            ('\\', Some(quoted)) => {
                at += 1;
                quoted
            }
            _ => c,
        };
        if !is_range {
            out.push('\\');
            // Letters and digits with a backslash would be classes.
            if literal.is_alphanumeric() {
                out.pop();
            }
        }
        out.push(*literal);
        at += 1;
    }
    out.push(']');
    out
}

fn compile(expression: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(expression);
    builder.dot_matches_new_line(true).size_limit(EXPRESSION);
    builder.build().ok()
}

/// Removes the shortest or longest prefix that matches.
pub(crate) fn remove_prefix<'a>(pattern: &str, text: &'a str, longest: bool) -> &'a str {
    let regex = compile(&format!("^(?:{})", expression(pattern, longest)));
    let found = regex.and_then(|regex| regex.find(text));
    &text[found.map_or(0, |found| found.end())..]
}

/// Removes the shortest or longest suffix that matches.
pub(crate) fn remove_suffix<'a>(pattern: &str, text: &'a str, longest: bool) -> &'a str {
    let before = if longest { ".*?" } else { ".*" };
    let regex = compile(&format!("^{before}((?:{})$)", expression(pattern, true)));
    let found = regex.and_then(|regex| regex.captures(text)?.get(1));
    &text[..found.map_or(text.len(), |found| found.start())]
}

/// Replaces the first or all longest matches.
///
/// `None` if `has_space` for the size of the result is false.
pub fn replace(
    pattern: &str,
    text: &str,
    with: &str,
    all: bool,
    has_space: impl FnOnce(usize) -> bool,
) -> Option<String> {
    let limit = if all { 0 } else { 1 };
    match compile(&expression(pattern, true)) {
        Some(regex) if !pattern.is_empty() => {
            let matches = match all {
                true => regex.find_iter(text).count(),
                false => 1,
            };
            let size = text
                .len()
                .saturating_add(matches.saturating_mul(with.len()));
            has_space(size).then(|| regex.replacen(text, limit, NoExpand(with)).into_owned())
        }
        _ => Some(text.to_owned()),
    }
}

/// Whether a text has unquoted pattern characters.
pub fn is_pattern(text: &str) -> bool {
    if !text.contains(['*', '?', '[']) {
        return false;
    }
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => drop(letters.next()),
            '*' | '?' | '[' => return true,
            _ => {}
        }
    }
    false
}

/// A text in which no character is one of a pattern.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '!' | '-' | '^') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// The text of a pattern without its quotes.
pub fn unquote(pattern: &str) -> String {
    if !pattern.contains('\\') {
        return pattern.to_owned();
    }
    let mut text = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => text.extend(letters.next()),
            c => text.push(c),
        }
    }
    text
}

/// A part of a text, as `${name:offset:length}`: negative values count from the end.
pub fn substring(text: &str, offset: i64, length: Option<i64>) -> String {
    let letters: Vec<char> = text.chars().collect();
    let count = letters.len() as i64;
    let begin = if offset < 0 {
        count.saturating_add(offset)
    } else {
        offset
    };
    let begin = begin.clamp(0, count);
    let end = match length {
        None => count,
        Some(length) if length < 0 => count.saturating_add(length),
        Some(length) => begin.saturating_add(length),
    };
    let end = end.clamp(begin, count);
    letters[begin as usize..end as usize].iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn expressions_match_as_patterns(pattern in "[a-c*?\\[\\]!\\\\^:-]{0,8}", text in "[a-c:^!-]{0,6}") {
            let expression = format!("^(?:{})$", expression(&pattern, true));
            if let Some(regex) = compile(&expression) {
                prop_assert_eq!(regex.is_match(&text), matches(&pattern, &text), "{}", expression);
            }
            remove_prefix(&pattern, &text, true);
            remove_suffix(&pattern, &text, false);
        }
    }

    #[test]
    fn patterns_match() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("?b", "ab", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[[:digit:]]*", "7z", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("[", "[", true),
            ("*a*b*c*", "xxaxxbxxc", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert_eq!(remove_prefix("*/", "a/b/c", true), "c");
        assert_eq!(remove_prefix("*/", "a/b/c", false), "b/c");
        assert_eq!(remove_suffix(".*", "a.b.c", true), "a");
        let replaced = |pattern: &str, text: &str, with: &str, all: bool| {
            replace(pattern, text, with, all, |_| true).unwrap()
        };
        assert_eq!(replaced("b", "abcb", "x", true), "axcx");
        assert_eq!(replaced("b*", "abcb", "x", false), "ax");
        assert_eq!(replaced("?", "a\nb", "$0", true), "$0$0$0");
        assert_eq!(replace("a", "aaa", "xx", true, |size| size < 9), None);
        assert_eq!(replaced("[!a-c.]", "a-d.e", "x", true), "axx.x");
        assert_eq!(replaced("[[:digit:]-]", "a1-b", "", true), "ab");
        assert_eq!(replaced("[\\]d]", "a]b", "x", true), "axb");
        assert_eq!(replaced("[", "a[b", "x", true), "axb");
        assert_eq!(replaced("b\\", "ab\\b", "x", true), "axb");
        assert_eq!(remove_suffix("/*", "a/b/c", false), "a/b");
        assert_eq!(remove_suffix("x", "abc", false), "abc");
        assert_eq!(remove_prefix("\\*", "*a", false), "a");
        assert_eq!(unquote(&quote("a*[!]\\")), "a*[!]\\");
    }
}
