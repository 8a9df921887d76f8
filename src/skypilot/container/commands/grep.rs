//! `grep`

use regex::{Regex, RegexBuilder};

use super::arguments::Arguments;
use super::context::{Context, Exit};
use super::text::next_line;
use crate::filesystem::normalize;

/// Maximum size of a compiled expression, in bytes.
const EXPRESSION: usize = 1 << 20;

/// Compiles a basic or extended regular expression.
pub(super) fn compile(expression: &str, extended: bool, ignore_case: bool) -> Option<Regex> {
    let expression = match extended {
        true => expression.to_owned(),
        false => from_basic(expression),
    };
    let mut builder = RegexBuilder::new(&expression);
    builder.case_insensitive(ignore_case).size_limit(EXPRESSION);
    builder.build().ok()
}

/// A basic regular expression with the operators of an extended one.
fn from_basic(expression: &str) -> String {
    let mut extended = String::new();
    let mut letters = expression.chars();
    let mut in_bracket = false;
    while let Some(c) = letters.next() {
        match c {
            '\\' if !in_bracket => match letters.next() {
                Some(c @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => extended.push(c),
                Some('<' | '>') => extended.push_str("\\b"),
                Some(c) => extended.extend(['\\', c]),
                None => extended.push_str("\\\\"),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' if !in_bracket => extended.extend(['\\', c]),
            '*' if extended.is_empty() => extended.push_str("\\*"),
            c => {
                match c {
                    '[' => in_bracket = true,
                    ']' => in_bracket = false,
                    _ => {}
                }
                extended.push(c);
            }
        }
    }
    extended
}

/// `grep`, `egrep` and `fgrep`
pub(super) async fn grep(program: &str, context: &mut Context<'_>) -> Exit {
    let long = [
        ("ignore-case", 'i'),
        ("invert-match", 'v'),
        ("count", 'c'),
        ("quiet", 'q'),
        ("recursive", 'r'),
        ("line-number", 'n'),
        ("only-matching", 'o'),
        ("extended-regexp", 'E'),
        ("fixed-strings", 'F'),
    ];
    let arguments = Arguments::parse(context.arguments, "eABCm", &long);
    let mut operands = arguments.operands.clone();
    let mut patterns: Vec<&str> = arguments.values('e').collect();
    if patterns.is_empty() {
        if operands.is_empty() {
            return context
                .fail(2, "usage: grep [OPTION]... PATTERN [FILE]...")
                .await;
        }
        patterns.push(operands.remove(0));
    }
    let extended = program == "egrep" || arguments.has('E') || arguments.has('P');
    let fixed = program == "fgrep" || arguments.has('F');
    let mut expressions = Vec::new();
    for pattern in patterns {
        let mut text = match (fixed, extended) {
            (true, _) => regex::escape(pattern),
            (false, true) => pattern.to_owned(),
            (false, false) => from_basic(pattern),
        };
        if arguments.has('w') {
            text = format!("\\b(?:{text})\\b");
        }
        if arguments.has('x') {
            text = format!("^(?:{text})$");
        }
        match compile(&text, true, arguments.has('i')) {
            Some(expression) => expressions.push(expression),
            None => return context.fail(2, format!("bad regex '{pattern}'")).await,
        }
    }
    let recursive = arguments.has('r') || arguments.has('R');
    let mut paths: Vec<String> = operands.iter().map(|path| (*path).to_owned()).collect();
    if recursive {
        let roots = if paths.is_empty() {
            vec![".".to_owned()]
        } else {
            paths
        };
        paths = Vec::new();
        for root in roots {
            paths.extend(files_below(context, &root));
        }
    }
    if paths.is_empty() && !recursive {
        paths.push("-".into());
    }
    let named = (paths.len() > 1 || recursive) && !arguments.has('h') || arguments.has('H');
    let limit: usize = arguments
        .value('m')
        .and_then(|m| m.parse().ok())
        .unwrap_or(usize::MAX);
    let (mut found, mut failed) = (false, false);
    for path in &paths {
        let input = match context.open(path) {
            Ok(input) => input,
            Err(error) => {
                failed = true;
                if !arguments.has('s') {
                    context.fail(2, format!("{path}: {error}")).await?;
                }
                continue;
            }
        };
        let name = if named {
            format!("{path}:")
        } else {
            String::new()
        };
        let (mut number, mut count) = (0, 0);
        while let Some((line, _)) = next_line(&input).await? {
            number += 1;
            let is_match = expressions.iter().any(|e| e.is_match(&line));
            if is_match == arguments.has('v') {
                continue;
            }
            found = true;
            count += 1;
            if arguments.has('q') {
                return Ok(0);
            }
            if arguments.has('l') {
                context.line(path).await?;
                break;
            }
            if !arguments.has('c') {
                let number = match arguments.has('n') {
                    true => format!("{number}:"),
                    false => String::new(),
                };
                match arguments.has('o') {
                    true => {
                        let matches = expressions.iter().flat_map(|e| e.find_iter(&line));
                        for part in matches {
                            context
                                .line(format!("{name}{number}{}", part.as_str()))
                                .await?;
                        }
                    }
                    false => context.line(format!("{name}{number}{line}")).await?,
                }
            }
            if count >= limit {
                break;
            }
        }
        if arguments.has('c') {
            context.line(format!("{name}{count}")).await?;
        }
    }
    Ok(match (found, failed) {
        (_, true) => 2,
        (true, false) => 0,
        (false, false) => 1,
    })
}

fn files_below(context: &Context<'_>, root: &str) -> Vec<String> {
    let files = context.files();
    let (mut found, mut waiting) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = waiting.pop() {
        let full = normalize(context.directory(), &path);
        match files.list("/", &full) {
            Ok(below) => {
                let join = |name: String| format!("{}/{name}", path.trim_end_matches('/'));
                waiting.extend(below.into_iter().rev().map(|(name, _)| join(name)));
            }
            Err(_) => found.push(path),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_expressions_quote_operators() {
        let is_match = |expression: &str, text: &str| {
            compile(expression, false, false).unwrap().is_match(text)
        };
        assert!(is_match("a+b", "a+b") && !is_match("a+b", "aab"));
        assert!(is_match("\\(ab\\)\\{2\\}", "abab"));
        assert!(is_match("[(]x", "(x") && is_match("*a", "*a"));
    }
}
