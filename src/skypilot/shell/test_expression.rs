//! `test`, `[` and `[[`.

use regex::Regex;

use super::pattern;

/// Maximum nesting depth of an expression.
const DEPTH: usize = 50;

/// What an expression asks about, besides texts and numbers.
pub trait TestSubject {
    /// The file at a path, after symbolic links; `None` if there is none.
    fn file(&self, path: &str) -> Option<TestFile>;
    /// Whether a path is a symbolic link.
    fn is_link(&self, path: &str) -> bool;
    /// Whether a file is newer than another one, or exists alone.
    fn is_newer(&self, path: &str, than: &str) -> bool;
    /// Whether two paths are the same file.
    fn is_same_file(&self, path: &str, other: &str) -> bool;
    /// Whether a variable is set.
    fn is_set(&self, name: &str) -> bool;
    /// Whether the shell has a terminal.
    fn has_terminal(&self) -> bool;
}

/// A file as `test` sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestFile {
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it has content.
    pub has_content: bool,
    /// Whether it can be executed.
    pub is_executable: bool,
}

/// Arguments of `test` that are no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TestExpressionError {
    /// A word after the expression.
    #[error("{0}: unexpected operator")]
    UnexpectedOperator(String),
    /// The expression ends early.
    #[error("argument expected")]
    ArgumentExpected,
    /// The expression is nested too deep.
    #[error("expression is too complex")]
    TooComplex,
    /// A parenthesis is not closed.
    #[error("closing paren expected")]
    ClosingParen,
    /// The pattern of `=~` is not a regular expression.
    #[error("invalid regular expression")]
    Regex,
    /// An operand is not a number.
    #[error("Illegal number: {0}")]
    Number(String),
}

/// Evaluates the arguments of `test`: the exit status.
///
/// # Errors
/// The arguments are no expression.
pub fn evaluate(
    shell: &impl TestSubject,
    arguments: &[String],
) -> Result<i32, TestExpressionError> {
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
                let word = words[parser.at].to_owned();
                return Err(TestExpressionError::UnexpectedOperator(word));
            }
            result
        }
    };
    Ok(i32::from(!result))
}

/// Evaluates the words of `[[ ]]`, which are patterns; the exit status.
pub fn condition(shell: &impl TestSubject, words: &[String]) -> i32 {
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

struct TestParser<'a, S> {
    shell: &'a S,
    words: &'a [&'a str],
    at: usize,
    depth: usize,
    is_condition: bool,
}

impl<'a, S: TestSubject> TestParser<'a, S> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.peek().is_some_and(|word| words.contains(&word));
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Result<&'a str, TestExpressionError> {
        let word = self.peek().ok_or(TestExpressionError::ArgumentExpected)?;
        self.at += 1;
        Ok(word)
    }

    fn text(&self, word: &str) -> String {
        match self.is_condition {
            true => pattern::unquote(word),
            false => word.to_owned(),
        }
    }

    fn or(&mut self) -> Result<bool, TestExpressionError> {
        let mut result = self.and()?;
        while self.accept(&["-o", "||"]) {
            result |= self.and()?;
        }
        Ok(result)
    }

    fn and(&mut self) -> Result<bool, TestExpressionError> {
        let mut result = self.primary()?;
        while self.accept(&["-a", "&&"]) {
            result &= self.primary()?;
        }
        Ok(result)
    }

    fn primary(&mut self) -> Result<bool, TestExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(TestExpressionError::TooComplex);
        }
        let result = if self.accept(&["!"]) {
            !self.primary()?
        } else if self.accept(&["("]) {
            let result = self.or()?;
            if !self.accept(&[")"]) {
                return Err(TestExpressionError::ClosingParen);
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

    fn compare(
        &self,
        left: &str,
        operator: &str,
        right: &str,
    ) -> Result<bool, TestExpressionError> {
        match operator {
            "=" | "==" if self.is_condition => Ok(pattern::matches(right, left)),
            "!=" if self.is_condition => Ok(!pattern::matches(right, left)),
            "=~" => match Regex::new(&self.text(right)) {
                Ok(regex) => Ok(regex.is_match(left)),
                Err(_) => Err(TestExpressionError::Regex),
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

fn unary(shell: &impl TestSubject, operator: &str, operand: &str) -> bool {
    let file = || shell.file(operand);
    match operator {
        "-n" => !operand.is_empty(),
        "-z" => operand.is_empty(),
        "-e" | "-r" | "-w" => file().is_some(),
        "-f" => file().is_some_and(|file| !file.is_directory),
        "-d" => file().is_some_and(|file| file.is_directory),
        "-s" => file().is_some_and(|file| file.has_content),
        "-x" => file().is_some_and(|file| file.is_executable),
        "-L" | "-h" => shell.is_link(operand),
        "-t" => shell.has_terminal(),
        "-v" => shell.is_set(operand),
        "-c" => operand.starts_with("/dev/") && file().is_some(),
        _ => false,
    }
}

fn binary(
    shell: &impl TestSubject,
    left: &str,
    operator: &str,
    right: &str,
) -> Result<bool, TestExpressionError> {
    Ok(match operator {
        "=" | "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        ">" => left > right,
        "-nt" => shell.is_newer(left, right),
        "-ot" => shell.is_newer(right, left),
        "-ef" => shell.is_same_file(left, right),
        _ => {
            let number = |text: &str| {
                let illegal = || TestExpressionError::Number(text.to_owned());
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
