//! Expansion of words; sequences.

use super::arithmetic::Variables;
use super::budget::OVERHEAD;
use super::interpreter::{DEPTH, Shell};
use super::parameter_operation::{self, Expansion, Operated};
use super::pattern;
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
    fn output(&mut self, list: &List) -> String {
        if self.depth >= DEPTH {
            return String::new();
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
        let last = Some(inner.line).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines.chain(last).collect();
        lines.join("\n").trim_end_matches('\n').to_owned()
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
                match operation {
                    Some(operation) => {
                        let value = self.known_value(name);
                        self.operate(name, value, operation)
                    }
                    None => self.value(name),
                }
            }
            Part::Command(list, _) => self.output(list),
            Part::Arithmetic(expression) => self.arithmetic(expression).to_string(),
        };
        match self.spend(text.len()) {
            true => text,
            false => String::new(),
        }
    }

    /// The expanded text of a word as a pattern, in which quoted characters are literal.
    pub(super) fn pattern(&mut self, word: &Word) -> String {
        let mut pattern = String::new();
        for part in word {
            let text = self.text(part);
            match part {
                Part::Literal(_) => pattern.push_str(&text),
                Part::Parameter { quoted: false, .. } | Part::Command(_, false) => {
                    pattern.push_str(&text.replace('\\', "\\\\"));
                }
                _ => pattern.push_str(&pattern::quote(&text)),
            }
        }
        pattern
    }

    /// The expanded text of a word that is not divided into words.
    fn unquoted(&mut self, word: &Word) -> String {
        let pattern = self.pattern(word);
        pattern::unquote(&pattern)
    }

    /// The value of an expansion with an operation.
    fn operate(&mut self, name: &str, value: Option<String>, operation: &Operation) -> String {
        let mut texts = Vec::new();
        for (word, expansion) in parameter_operation::words(operation, value.as_deref()) {
            texts.push(match expansion {
                Expansion::Text => self.unquoted(word),
                Expansion::Pattern => self.pattern(word),
                Expansion::Number => self.arithmetic(word).to_string(),
            });
        }
        let has_space = |size| self.spend(size);
        match parameter_operation::apply(operation, value, texts, has_space) {
            Operated::Text(text) => text,
            Operated::Assigned(text) => {
                self.set(name, text.clone());
                text
            }
            Operated::Error(text) => {
                self.print(&format!("sh: {name}: {text}\n"));
                self.step(Step::Exit(2));
                String::new()
            }
            Operated::OutOfSpace => String::new(),
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
