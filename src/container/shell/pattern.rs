//! Patterns: `*`, `?`, `[...]`; a backslash quotes the next character.

/// Whether a pattern matches a text completely.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
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

/// Removes the shortest or longest prefix that matches.
pub(super) fn remove_prefix<'a>(pattern: &str, text: &'a str, longest: bool) -> &'a str {
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    ends.push(text.len());
    let matching = |at: &usize| matches(pattern, &text[..*at]);
    let end = match longest {
        true => ends.into_iter().rev().find(matching),
        false => ends.into_iter().find(matching),
    };
    &text[end.unwrap_or(0)..]
}

/// Removes the shortest or longest suffix that matches.
pub(super) fn remove_suffix<'a>(pattern: &str, text: &'a str, longest: bool) -> &'a str {
    let mut begins: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    begins.push(text.len());
    let matching = |at: &usize| matches(pattern, &text[*at..]);
    let begin = match longest {
        true => begins.into_iter().find(matching),
        false => begins.into_iter().rev().find(matching),
    };
    &text[..begin.unwrap_or(text.len())]
}

/// Replaces the first or all longest matches.
pub(super) fn replace(pattern: &str, text: &str, with: &str, all: bool) -> String {
    let pattern: Vec<char> = pattern.chars().collect();
    let letters: Vec<char> = text.chars().collect();
    let mut replaced = String::new();
    let (mut at, mut done) = (0, pattern.is_empty());
    while at < letters.len() {
        let longest = match done {
            true => None,
            false => (at + 1..=letters.len())
                .rev()
                .find(|end| matches_chars(&pattern, &letters[at..*end])),
        };
        match longest {
            Some(end) => {
                replaced.push_str(with);
                at = end;
                done = !all;
            }
            None => {
                replaced.push(letters[at]);
                at += 1;
            }
        }
    }
    replaced
}

/// Whether a text has unquoted pattern characters.
pub(super) fn is_pattern(text: &str) -> bool {
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
pub(super) fn quote(text: &str) -> String {
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
pub(super) fn unquote(pattern: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(replace("b", "abcb", "x", true), "axcx");
        assert_eq!(replace("b*", "abcb", "x", false), "ax");
        assert_eq!(unquote(&quote("a*[!]\\")), "a*[!]\\");
    }
}
