//! Expansion of words; sequences, `test` and `printf`.

use super::arithmetic::Variables;
use super::budget::OVERHEAD;
use super::interpreter::{DEPTH, Shell};
use super::syntax::{Dialect, List, Operation, Part, Word, expand_braces};
use kueue_lab_container_program::Step;

/// Maximum number of values of `seq`.
const NUMBERS: usize = 10_000;

/// Expands a word into words: braces first, then variables and substitutions. Unquoted variables and
/// command substitutions are split at spaces.
pub(super) fn expand(shell: &mut Shell, word: &Word, words: &mut Vec<String>) {
    if shell.dialect != Dialect::Bash {
        return expand_without_braces(shell, word, words);
    }
    let mut letters = shell.brace_letters;
    let expanded = expand_braces(word, &mut letters, |bytes| shell.spend(bytes));
    shell.brace_letters = letters;
    for word in expanded.iter().flatten() {
        expand_without_braces(shell, word, words);
    }
}

fn expand_without_braces(shell: &mut Shell, word: &Word, words: &mut Vec<String>) {
    let text = shell.word_text(word);
    let is_split = matches!(
        word[..],
        [Part::Parameter { quoted: false, .. } | Part::Command(_, false)]
    );
    if is_split {
        let parts = text.split_whitespace();
        if shell.spend(parts.clone().count() * OVERHEAD) {
            words.extend(parts.map(str::to_string));
        }
    } else if shell.spend(OVERHEAD) {
        words.push(text);
    }
}

impl Shell {
    /// The output of a command substitution.
    fn output(&mut self, list: &List) -> Vec<String> {
        if self.depth >= DEPTH {
            return Vec::new();
        }
        let functions = self.functions.clone();
        let inner = self.inner(self.dialect, |inner| {
            inner.functions = functions;
            inner.list(list);
        });
        self.status = inner.status;
        let lines = inner.steps.into_iter().filter_map(|step| match step {
            Step::Print(line) => Some(line),
            _ => None,
        });
        lines.collect()
    }

    /// The expanded text of a word that is not divided into words; empty if the budget is spent.
    pub(super) fn word_text(&mut self, word: &Word) -> String {
        let mut text = String::new();
        for part in word {
            text.push_str(&self.text(part));
        }
        text
    }

    /// The expanded text of a part; empty if the budget is spent.
    fn text(&mut self, part: &Part) -> String {
        let text = match part {
            Part::Literal(text) | Part::Quoted(text) => match self.spend(text.len()) {
                true => text.clone(),
                false => String::new(),
            },
            Part::Parameter {
                name, operation, ..
            } => {
                let size = self.variables.get(name).map_or(0, String::len);
                if !self.spend(size) {
                    return String::new();
                }
                let value = self.value(name);
                match operation {
                    Some(operation) => self.operate(name, value, operation),
                    None => value,
                }
            }
            Part::Command(list, _) => self.output(list).join(" "),
            Part::Arithmetic(expression) => self.arithmetic(expression).to_string(),
        };
        match self.spend(text.len()) {
            true => text,
            false => String::new(),
        }
    }

    /// The value of an expansion with an operation. Those on patterns and positions have no effect.
    fn operate(&mut self, name: &str, value: String, operation: &Operation) -> String {
        match operation {
            Operation::Length => value.chars().count().to_string(),
            Operation::Default { word, .. } if value.is_empty() => self.word_text(word),
            Operation::Assign { word, .. } if value.is_empty() => {
                let text = self.word_text(word);
                self.set(name, text.clone());
                text
            }
            Operation::Alternative { word, .. } if !value.is_empty() => self.word_text(word),
            _ => value,
        }
    }
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

/// The result of `[[ ]]`, without precedence by parentheses.
pub(super) fn condition(words: &[&str]) -> bool {
    words
        .split(|word| *word == "||")
        .any(|words| words.split(|word| *word == "&&").all(test))
}
