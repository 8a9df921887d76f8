//! `test`, `[` and `[[`.

use regex::Regex;

use super::pattern;
use super::state::Shell;
use crate::filesystem::FileKind;

/// Maximum nesting depth of an expression.
const DEPTH: usize = 50;

/// Evaluates the arguments of `test`: the exit status.
///
/// # Errors
/// The arguments are no expression.
pub(crate) fn evaluate(shell: &Shell, arguments: &[String]) -> Result<i32, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        [] => false,
        [only] => !only.is_empty(),
        ["!", only] => only.is_empty(),
        [operator, operand] if is_unary(operator) => unary(shell, operator, operand),
        [left, operator, right] if is_binary(operator) => binary(shell, left, operator, right)?,
        ["!", left, operator, right] if is_binary(operator) => {
            !binary(shell, left, operator, right)?
        }
        _ => {
            let mut parser = TestParser {
                shell,
                words: &words,
                at: 0,
                depth: 0,
                is_condition: false,
            };
            let result = parser.or()?;
            if parser.at < words.len() {
                return Err(format!("{}: unexpected operator", words[parser.at]));
            }
            result
        }
    };
    Ok(i32::from(!result))
}

/// Evaluates the words of `[[ ]]`, which are patterns; the exit status.
pub(super) fn condition(shell: &Shell, words: &[String]) -> i32 {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut parser = TestParser {
        shell,
        words: &words,
        at: 0,
        depth: 0,
        is_condition: true,
    };
    match parser.or() {
        Ok(result) if parser.at == words.len() => i32::from(!result),
        _ => 2,
    }
}

struct TestParser<'a> {
    shell: &'a Shell,
    words: &'a [&'a str],
    at: usize,
    depth: usize,
    is_condition: bool,
}

impl<'a> TestParser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.peek().is_some_and(|word| words.contains(&word));
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Result<&'a str, String> {
        let word = self.peek().ok_or("argument expected")?;
        self.at += 1;
        Ok(word)
    }

    fn text(&self, word: &str) -> String {
        match self.is_condition {
            true => pattern::unquote(word),
            false => word.to_owned(),
        }
    }

    fn or(&mut self) -> Result<bool, String> {
        let mut result = self.and()?;
        while self.accept(&["-o", "||"]) {
            result |= self.and()?;
        }
        Ok(result)
    }

    fn and(&mut self) -> Result<bool, String> {
        let mut result = self.primary()?;
        while self.accept(&["-a", "&&"]) {
            result &= self.primary()?;
        }
        Ok(result)
    }

    fn primary(&mut self) -> Result<bool, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("expression is too complex".into());
        }
        let result = if self.accept(&["!"]) {
            !self.primary()?
        } else if self.accept(&["("]) {
            let result = self.or()?;
            if !self.accept(&[")"]) {
                return Err("closing paren expected".into());
            }
            result
        } else {
            let first = self.next()?;
            match self.peek() {
                Some(operator) if is_binary(operator) || operator == "=~" => {
                    self.at += 1;
                    let right = self.next()?;
                    self.compare(&self.text(first), operator, right)?
                }
                Some(operand) if is_unary(first) && !matches!(operand, "&&" | "||" | ")") => {
                    self.at += 1;
                    unary(self.shell, first, &self.text(operand))
                }
                _ => !first.is_empty(),
            }
        };
        self.depth -= 1;
        Ok(result)
    }

    fn compare(&self, left: &str, operator: &str, right: &str) -> Result<bool, String> {
        match operator {
            "=" | "==" if self.is_condition => Ok(pattern::matches(right, left)),
            "!=" if self.is_condition => Ok(!pattern::matches(right, left)),
            "=~" => match Regex::new(&self.text(right)) {
                Ok(regex) => Ok(regex.is_match(left)),
                Err(_) => Err("invalid regular expression".into()),
            },
            _ => binary(self.shell, left, operator, &self.text(right)),
        }
    }
}

fn is_unary(operator: &str) -> bool {
    matches!(
        operator,
        "-n" | "-z"
            | "-e"
            | "-f"
            | "-d"
            | "-s"
            | "-r"
            | "-w"
            | "-x"
            | "-L"
            | "-h"
            | "-t"
            | "-v"
            | "-c"
            | "-b"
            | "-p"
            | "-S"
    )
}

fn is_binary(operator: &str) -> bool {
    matches!(
        operator,
        "=" | "=="
            | "!="
            | "<"
            | ">"
            | "-eq"
            | "-ne"
            | "-lt"
            | "-le"
            | "-gt"
            | "-ge"
            | "-nt"
            | "-ot"
            | "-ef"
    )
}

fn unary(shell: &Shell, operator: &str, operand: &str) -> bool {
    let files = shell.container().files();
    let entry = || files.stat(shell.directory(), operand).ok();
    match operator {
        "-n" => !operand.is_empty(),
        "-z" => operand.is_empty(),
        "-e" => entry().is_some(),
        "-f" => entry().is_some_and(|e| !e.is_directory()),
        "-d" => entry().is_some_and(|e| e.is_directory()),
        "-s" => entry().is_some_and(|e| e.size() > 0),
        "-r" | "-w" => entry().is_some(),
        "-x" => entry().is_some_and(|e| e.mode & 0o111 != 0),
        "-L" | "-h" => files
            .lstat(shell.directory(), operand)
            .is_ok_and(|e| matches!(e.kind, FileKind::Link(_))),
        "-t" => shell.terminal.is_some(),
        "-v" => shell.get(operand).is_some(),
        "-c" => operand.starts_with("/dev/") && entry().is_some(),
        _ => false,
    }
}

fn binary(shell: &Shell, left: &str, operator: &str, right: &str) -> Result<bool, String> {
    let files = shell.container().files();
    let modified = |path: &str| files.stat(shell.directory(), path).ok().map(|e| e.modified);
    Ok(match operator {
        "=" | "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        ">" => left > right,
        "-nt" => modified(left) > modified(right),
        "-ot" => modified(left) < modified(right),
        "-ef" => {
            let resolve = |path: &str| files.resolve(shell.directory(), path, true).ok();
            resolve(left).is_some() && resolve(left) == resolve(right)
        }
        _ => {
            let number = |text: &str| {
                let illegal = || format!("Illegal number: {text}");
                text.trim().parse::<i64>().map_err(|_| illegal())
            };
            let (left, right) = (number(left)?, number(right)?);
            match operator {
                "-eq" => left == right,
                "-ne" => left != right,
                "-lt" => left < right,
                "-le" => left <= right,
                "-gt" => left > right,
                _ => left >= right,
            }
        }
    })
}
