//! Shell words: expansion, `test`, `printf` and `seq`.

use super::budget::OVERHEAD;
use super::interpreter::Shell;
use super::lexer::WordPart;

/// Maximum number of values of `seq`.
const NUMBERS: usize = 10_000;

/// Expands a word into words: braces first, then variables and substitutions. Unquoted variables and
/// command substitutions are split at spaces.
pub(super) fn expand(shell: &mut Shell, pieces: &[WordPart], words: &mut Vec<String>) {
    for pieces in braces(shell, pieces) {
        let alone = matches!(
            pieces[..],
            [WordPart::Variable(..)] | [WordPart::Command(_, false)]
        );
        let mut text = String::new();
        for piece in &pieces {
            text.push_str(&shell.text(piece));
        }
        if alone {
            let parts = text.split_whitespace();
            if shell.spend(parts.clone().count() * OVERHEAD) {
                words.extend(parts.map(str::to_string));
            }
        } else if shell.spend(OVERHEAD) {
            words.push(text);
        }
    }
}

/// The words of a word with brace expressions, the leftmost one varying slowest.
fn braces(shell: &mut Shell, pieces: &[WordPart]) -> Vec<Vec<WordPart>> {
    let Some(at) = pieces.iter().position(|p| matches!(p, WordPart::Braces(_))) else {
        return vec![pieces.to_vec()];
    };
    let WordPart::Braces(alternatives) = &pieces[at] else {
        return Vec::new();
    };
    let around: usize = pieces[..at].iter().chain(&pieces[at + 1..]).map(size).sum();
    let mut all = Vec::new();
    for alternative in alternatives {
        if !shell.spend(around + alternative.iter().map(size).sum::<usize>()) {
            break;
        }
        let mut word = pieces[..at].to_vec();
        word.extend_from_slice(alternative);
        word.extend_from_slice(&pieces[at + 1..]);
        all.extend(braces(shell, &word));
        if all.len() > NUMBERS {
            break;
        }
    }
    all.truncate(NUMBERS);
    all
}

/// The size of a part in memory, in bytes.
fn size(part: &WordPart) -> usize {
    let text = match part {
        WordPart::Text(text) | WordPart::Command(text, _) | WordPart::Arithmetic(text) => {
            text.len()
        }
        WordPart::Variable(name, instead) => name.len() + instead.as_ref().map_or(0, String::len),
        WordPart::Braces(alternatives) => alternatives.iter().flatten().map(size).sum(),
    };
    text + 2 * OVERHEAD
}

/// The values of a sequence expression: `1..10`, `1..10..2`, `a..e`; None if the text is none.
pub fn brace_sequence(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step.parse::<i64>().ok()?),
        _ => return None,
    };
    let step = step.saturating_abs().max(1);
    let range = |first: i64, last: i64| {
        let step = if first <= last { step } else { -step };
        let past = move |n: &i64| if step > 0 { *n <= last } else { *n >= last };
        std::iter::successors(Some(first), move |n| n.checked_add(step))
            .take_while(past)
            .take(NUMBERS)
    };
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        // A leading zero pads all numbers.
        let padded = [first, last].iter().any(|n| {
            let digits = n.trim_start_matches('-');
            digits.len() > 1 && digits.starts_with('0')
        });
        let width = if padded {
            first.len().max(last.len())
        } else {
            0
        };
        return Some(range(from, to).map(|n| format!("{n:0width$}")).collect());
    }
    let letter = |text: &str| {
        let mut letters = text.chars();
        let letter = letters.next().filter(char::is_ascii_alphabetic)?;
        letters
            .next()
            .is_none()
            .then_some(i64::from(u32::from(letter)))
    };
    let range = range(letter(first)?, letter(last)?);
    let letters = range.filter_map(|n| u32::try_from(n).ok().and_then(char::from_u32));
    Some(letters.map(String::from).collect())
}

/// The values of `seq LAST`, `seq FIRST LAST` or `seq FIRST STEP LAST`.
pub fn seq(arguments: &[&str]) -> Vec<i64> {
    let numbers: Vec<i64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let (first, step, last) = match numbers[..] {
        [last] => (1, 1, last),
        [first, last] => (first, 1, last),
        [first, step, last] if step != 0 => (first, step, last),
        _ => return Vec::new(),
    };
    let past = |n: &i64| if step > 0 { *n <= last } else { *n >= last };
    std::iter::successors(Some(first), |n| n.checked_add(step))
        .take_while(past)
        .take(NUMBERS)
        .collect()
}

/// The output of `printf`.
pub(super) fn printf(arguments: &[&str]) -> String {
    let mut arguments = arguments.iter();
    let format = arguments.next().copied().unwrap_or_default();
    let format = format.replace("\\n", "\n").replace("\\t", "\t");
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        // Width and precision are ignored.
        match letters.find(char::is_ascii_alphabetic) {
            Some(_) => text.push_str(arguments.next().copied().unwrap_or_default()),
            None => text.push('%'),
        }
    }
    text
}

/// The result of `test`; files never exist.
pub(super) fn test(arguments: &[&str]) -> bool {
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|a| !matches!(*a, "]" | "]]"))
        .collect();
    let number = |text: &str| text.trim().parse::<i64>().unwrap_or(0);
    match arguments[..] {
        [] => false,
        ["!", ..] => {
            let negations = arguments.iter().take_while(|a| **a == "!").count();
            test(&arguments[negations..]) == (negations % 2 == 0)
        }
        ["-z", text] => text.is_empty(),
        ["-n", text] => !text.is_empty(),
        ["-f" | "-d" | "-e" | "-s" | "-x" | "-r", _] => false,
        [text] => !text.is_empty(),
        [a, "=" | "==", b] => a == b,
        [a, "!=", b] => a != b,
        [a, "-eq", b] => number(a) == number(b),
        [a, "-ne", b] => number(a) != number(b),
        [a, "-lt", b] => number(a) < number(b),
        [a, "-le", b] => number(a) <= number(b),
        [a, "-gt", b] => number(a) > number(b),
        [a, "-ge", b] => number(a) >= number(b),
        _ => true,
    }
}
