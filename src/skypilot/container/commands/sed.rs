//! `sed`: the commands `s`, `p`, `d` and `q` with line and pattern addresses.

use regex::Regex;

use super::context::{Context, Exit};
use super::grep::compile;
use crate::filesystem::Errno;

/// A line that a command applies to.
enum Address {
    Line(usize),
    Last,
    Pattern(Regex),
}

/// The action of a command.
enum Action {
    Substitute {
        pattern: Regex,
        with: String,
        all: bool,
        print: bool,
    },
    Print,
    Delete,
    Quit,
}

/// A command of a script.
struct Command {
    first: Option<Address>,
    last: Option<Address>,
    negated: bool,
    action: Action,
    /// Whether the lines of its range are being processed.
    active: bool,
}

/// `sed [-n] [-E] [-i] [-e] SCRIPT [FILE...]`
pub(super) async fn sed(context: &mut Context<'_>) -> Exit {
    let (mut quiet, mut extended, mut in_place) = (false, false, false);
    let (mut scripts, mut paths) = (Vec::new(), Vec::new());
    let mut rest = context.arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-e" | "--expression" => scripts.extend(rest.next().cloned()),
            option if option.starts_with('-') && option.len() > 1 => {
                quiet |= option.contains('n');
                extended |= option.contains('E') || option.contains('r');
                in_place |= option.contains('i');
            }
            path => paths.push(path.to_owned()),
        }
    }
    if scripts.is_empty() {
        if paths.is_empty() {
            return context.fail(1, "no script specified").await;
        }
        scripts.push(paths.remove(0));
    }
    let mut commands = Vec::new();
    for script in scripts {
        match parse(&script, extended) {
            Some(parsed) => commands.extend(parsed),
            None => {
                return context
                    .fail(1, format!("unsupported command: {script}"))
                    .await;
            }
        }
    }
    if !in_place {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let (data, failed) = context.read_files(&paths).await?;
        let space = |size: usize| context.has_memory(size);
        let text = String::from_utf8_lossy(&data);
        let Some(out) = edit(&text, &mut commands, quiet, space) else {
            return Ok(137);
        };
        context.write(out).await?;
        return Ok(i32::from(failed));
    }
    for path in paths {
        let now = context.now();
        let result = context.read_file(&path).and_then(|data| {
            let space = |size: usize| context.has_memory(size);
            let out = edit(&String::from_utf8_lossy(&data), &mut commands, quiet, space);
            let out = out.ok_or(Errno::NoSpace)?;
            context
                .files()
                .write(context.directory(), &path, out.into(), now)
        });
        if let Err(error) = result {
            return context.fail(1, format!("{path}: {error}")).await;
        }
    }
    Ok(0)
}

/// The edited text; `None` if `has_space` for it is false.
fn edit(
    text: &str,
    commands: &mut [Command],
    quiet: bool,
    has_space: impl Fn(usize) -> bool,
) -> Option<String> {
    let mut out = String::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let mut space = line[..line.len() - end.len()].to_owned();
        let (mut deleted, mut quit) = (false, false);
        for command in commands.iter_mut() {
            if !command.applies(&space, index + 1, index + 1 == lines.len()) {
                continue;
            }
            match &command.action {
                Action::Substitute {
                    pattern,
                    with,
                    all,
                    print,
                } => {
                    let count = if *all { 0 } else { 1 };
                    let matches = match all {
                        true => pattern.find_iter(&space).count(),
                        false => 1,
                    };
                    // Each reference repeats at most the line.
                    let references = with.matches("${").count();
                    let added = matches.saturating_mul(with.len());
                    let added = added.saturating_add(references.saturating_mul(space.len()));
                    let size = out.len().saturating_add(space.len());
                    if !has_space(size.saturating_add(added)) {
                        return None;
                    }
                    let replaced = pattern.replacen(&space, count, with.as_str()).into_owned();
                    let changed = replaced != space;
                    space = replaced;
                    if changed && *print {
                        out.push_str(&space);
                        out.push('\n');
                    }
                }
                Action::Print => {
                    out.push_str(&space);
                    out.push('\n');
                }
                Action::Delete => {
                    deleted = true;
                    break;
                }
                Action::Quit => {
                    quit = true;
                    break;
                }
            }
        }
        if !deleted && !quiet {
            out.push_str(&space);
            out.push_str(end);
        }
        if quit {
            break;
        }
    }
    Some(out)
}

impl Command {
    fn applies(&mut self, line: &str, number: usize, is_last: bool) -> bool {
        let matches = |address: &Address| match address {
            Address::Line(wanted) => *wanted == number,
            Address::Last => is_last,
            Address::Pattern(pattern) => pattern.is_match(line),
        };
        let result = match (&self.first, &self.last) {
            (None, _) => true,
            (Some(first), None) => matches(first),
            (Some(first), Some(last)) => {
                let starts = !self.active && matches(first);
                let ends = match last {
                    Address::Line(wanted) => number >= *wanted,
                    // The last line is looked for after the first one.
                    last => !starts && matches(last),
                };
                let inside = self.active || starts;
                self.active = inside && !ends;
                inside
            }
        };
        result != self.negated
    }
}

fn parse(script: &str, extended: bool) -> Option<Vec<Command>> {
    let letters: Vec<char> = script.chars().collect();
    let mut parser = SedParser {
        letters,
        at: 0,
        extended,
    };
    let mut commands = Vec::new();
    loop {
        while parser.peek().is_some_and(|c| c.is_whitespace() || c == ';') {
            parser.at += 1;
        }
        if parser.peek().is_none() {
            return Some(commands);
        }
        commands.push(parser.command()?);
    }
}

struct SedParser {
    letters: Vec<char>,
    at: usize,
    extended: bool,
}

impl SedParser {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// Text up to a delimiter, which is consumed; a backslash quotes the delimiter.
    fn until(&mut self, delimiter: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                c if c == delimiter => return Some(text),
                '\\' => match self.next()? {
                    c if c == delimiter => text.push(c),
                    'n' => text.push('\n'),
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
    }

    fn address(&mut self) -> Option<Option<Address>> {
        Some(match self.peek() {
            Some('$') => {
                self.at += 1;
                Some(Address::Last)
            }
            Some('/') => {
                self.at += 1;
                let text = self.until('/')?;
                Some(Address::Pattern(compile(&text, self.extended, false)?))
            }
            Some(c) if c.is_ascii_digit() => {
                let mut digits = String::new();
                while let Some(c) = self.peek().filter(char::is_ascii_digit) {
                    digits.push(c);
                    self.at += 1;
                }
                Some(Address::Line(digits.parse().ok()?))
            }
            _ => None,
        })
    }

    fn command(&mut self) -> Option<Command> {
        let first = self.address()?;
        let mut last = None;
        if first.is_some() && self.peek() == Some(',') {
            self.at += 1;
            last = self.address()?;
        }
        while self.peek() == Some(' ') {
            self.at += 1;
        }
        let negated = self.peek() == Some('!');
        self.at += usize::from(negated);
        let action = match self.next()? {
            'p' => Action::Print,
            'd' => Action::Delete,
            'q' => Action::Quit,
            's' => {
                let delimiter = self.next()?;
                let pattern = self.until(delimiter)?;
                let with = self.until(delimiter)?;
                let (mut all, mut print, mut ignore_case) = (false, false, false);
                while let Some(flag) = self.peek().filter(|c| "gpiI".contains(*c)) {
                    self.at += 1;
                    match flag {
                        'g' => all = true,
                        'p' => print = true,
                        _ => ignore_case = true,
                    }
                }
                Action::Substitute {
                    pattern: compile(&pattern, self.extended, ignore_case)?,
                    with: replacement(&with),
                    all,
                    print,
                }
            }
            _ => return None,
        };
        Some(Command {
            first,
            last,
            negated,
            action,
            active: false,
        })
    }
}

/// A replacement with the references of the regex crate: `&` is `${0}` and `\1` is `${1}`.
fn replacement(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match c {
            '$' => out.push_str("$$"),
            '&' => out.push_str("${0}"),
            '\\' => match letters.next() {
                Some(digit) if digit.is_ascii_digit() => out.push_str(&format!("${{{digit}}}")),
                Some('t') => out.push('\t'),
                Some(c) => out.push(c),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_edit_lines() {
        let text = "one\ntwo\nthree\n";
        for (script, quiet, expected) in [
            ("s/o/0/", false, "0ne\ntw0\nthree\n"),
            ("s/e/[&]/g", false, "on[e]\ntwo\nthr[e][e]\n"),
            ("s|\\(t\\)\\(.\\)|\\2\\1|", false, "one\nwto\nhtree\n"),
            ("2p", true, "two\n"),
            ("2,3d", false, "one\n"),
            ("$p", true, "three\n"),
            ("/tw/,$p", true, "two\nthree\n"),
            ("/tw/!d", false, "two\n"),
            ("1q", false, "one\n"),
            ("s/$/$x/;3d", false, "one$x\ntwo$x\n"),
        ] {
            let mut commands = parse(script, false).unwrap();
            let edited = edit(text, &mut commands, quiet, |_| true);
            assert_eq!(edited.as_deref(), Some(expected), "{script}");
        }
        assert!(parse("y/a/b/", false).is_none());
    }
}
