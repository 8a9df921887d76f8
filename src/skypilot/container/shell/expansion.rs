//! Expansion of words: braces, tilde, parameters, command substitution, arithmetic, field splitting and
//! pathnames.

use kueue_lab_shell::parameter_operation::{self, Expansion, Operated};
use kueue_lab_shell::syntax::{
    BRACE_LETTERS, Dialect, Index, List, Operation, Part, Word, expand_braces,
};
use kueue_lab_shell::{arithmetic, pattern};

use super::fields::Fields;
use super::state::Shell;
use crate::memory::{MemoryReservation, WORD_OVERHEAD};
use crate::streams::{Output, Streams};

/// An expansion failed; the message is written and the command is not executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExpansionError(pub(super) String);

/// The error of an expansion that takes too much memory.
pub(super) const OUT_OF_SPACE: &str = "Out of space";

type Expanded<T> = Result<T, ExpansionError>;

/// Words and the memory that they take.
#[derive(Debug)]
pub(super) struct ExpandedWords {
    pub(super) words: Vec<String>,
    _reservation: MemoryReservation,
}

/// The error of an expansion that takes too much memory.
fn check(is_reserved: bool) -> Expanded<()> {
    check_some(is_reserved.then_some(()))
}

fn check_some<T>(value: Option<T>) -> Expanded<T> {
    value.ok_or_else(|| ExpansionError(OUT_OF_SPACE.into()))
}

impl Shell {
    /// Expands words to fields.
    pub(super) async fn expand_words(
        &mut self,
        words: &[Word],
        streams: &Streams,
    ) -> Expanded<ExpandedWords> {
        let mut expanded = Vec::new();
        let mut reservation = self.process.reserve();
        for word in words {
            for word in self.braces(word)? {
                let fields = self.expand_word(&word, &mut reservation, streams).await?;
                check(reservation.grow(fields.len() * WORD_OVERHEAD))?;
                expanded.extend(fields);
            }
        }
        Ok(ExpandedWords {
            words: expanded,
            _reservation: reservation,
        })
    }

    async fn expand_word(
        &mut self,
        word: &Word,
        reservation: &mut MemoryReservation,
        streams: &Streams,
    ) -> Expanded<Vec<String>> {
        let separators = self.get("IFS").unwrap_or_else(|| " \t\n".into());
        let mut fields = Fields::new(separators);
        for (index, part) in word.iter().enumerate() {
            match part {
                Part::Literal(text) => {
                    let text = match index {
                        0 => self.tilde(text, word.len() == 1),
                        _ => text.clone(),
                    };
                    fields.literal(&text);
                }
                Part::Parameter {
                    name,
                    index,
                    operation: None,
                    quoted: true,
                } if is_list(name, index.as_deref()) => {
                    let values = self.elements(name);
                    for (index, value) in values.values().enumerate() {
                        if index > 0 {
                            fields.end_field();
                        }
                        check(reservation.grow(value.len()))?;
                        fields.quoted(value);
                    }
                    if values.is_empty() && word.len() <= 2 {
                        // `"$@"` without parameters is no field.
                        return Ok(Vec::new());
                    }
                }
                part => {
                    let (text, quoted) = self.part_text(part, streams).await?;
                    check(reservation.grow(text.len()))?;
                    match quoted {
                        true => fields.quoted(&text),
                        false => fields.split(&text),
                    }
                }
            }
        }
        let container = self.container();
        Ok(fields.finish(container.files(), &self.directory, self.options.noglob))
    }

    /// Expands a word to one text: assignments, redirections, `case`.
    pub(super) async fn expand_text(&mut self, word: &Word, streams: &Streams) -> Expanded<String> {
        let pattern = self.expand_pattern(word, streams).await?;
        Ok(pattern::unquote(&pattern))
    }

    /// Expands a word to a pattern, in which quoted characters are literal.
    pub(super) async fn expand_pattern(
        &mut self,
        word: &Word,
        streams: &Streams,
    ) -> Expanded<String> {
        let mut text = String::new();
        let mut reservation = self.process.reserve();
        for (index, part) in word.iter().enumerate() {
            match part {
                Part::Literal(literal) if index == 0 => {
                    text.push_str(&self.tilde(literal, word.len() == 1));
                }
                Part::Literal(literal) => text.push_str(literal),
                part => {
                    let (part, quoted) = self.part_text(part, streams).await?;
                    check(reservation.grow(part.len()))?;
                    match quoted {
                        true => text.push_str(&pattern::quote(&part)),
                        false => text.push_str(&part.replace('\\', "\\\\")),
                    }
                }
            }
        }
        Ok(text)
    }

    /// `~` and `~/...`.
    fn tilde(&self, text: &str, is_whole: bool) -> String {
        match text.strip_prefix('~') {
            Some(rest) if rest.starts_with('/') || (rest.is_empty() && is_whole) => {
                let home = self.get("HOME").unwrap_or_default();
                format!("{}{rest}", pattern::quote(&home))
            }
            _ => text.to_owned(),
        }
    }

    /// The words of a word with brace expressions, which only `bash` has.
    fn braces(&self, word: &Word) -> Expanded<Vec<Word>> {
        if self.dialect != Dialect::Bash {
            return Ok(vec![word.clone()]);
        }
        let mut reservation = self.process.reserve();
        let words = expand_braces(word, &mut { BRACE_LETTERS }, |bytes| {
            reservation.grow(bytes)
        });
        check_some(words)
    }

    /// The text of a part, and whether it is quoted.
    async fn part_text(&mut self, part: &Part, streams: &Streams) -> Expanded<(String, bool)> {
        Ok(match part {
            Part::Literal(text) => (text.clone(), false),
            Part::Quoted(text) => (text.clone(), true),
            Part::Parameter {
                name,
                index: Some(index),
                operation,
                quoted,
            } => {
                let text = self.element(name, index, operation.as_deref(), streams);
                (Box::pin(text).await?, *quoted)
            }
            Part::Parameter {
                name,
                index: None,
                operation,
                quoted,
            } => {
                let text = match operation {
                    None => self.parameter(name)?,
                    Some(operation) => {
                        let value = self.get(name);
                        Box::pin(self.operate(name, value, operation, streams)).await?
                    }
                };
                (text, *quoted)
            }
            Part::Command(list, quoted) => (self.substitute(list, streams).await, *quoted),
            Part::Arithmetic(expression) => {
                let text = Box::pin(self.expand_text(expression, streams)).await?;
                (arithmetic(self, &text).to_string(), true)
            }
        })
    }

    /// Elements of an array, to which an operation is applied as to a variable with their text.
    async fn element(
        &mut self,
        name: &str,
        index: &Index,
        operation: Option<&Operation>,
        streams: &Streams,
    ) -> Expanded<String> {
        let elements = self.elements(name);
        let value = match index {
            Index::At(expression) => {
                let index = self.array_index(name, expression, streams).await?;
                elements.get(&index).cloned()
            }
            Index::All | Index::Joined if matches!(operation, Some(Operation::Length)) => {
                return Ok(elements.len().to_string());
            }
            Index::All | Index::Joined => {
                let texts: Vec<String> = elements.into_values().collect();
                (!texts.is_empty()).then(|| texts.join(" "))
            }
        };
        match operation {
            None => Ok(value.unwrap_or_default()),
            Some(operation) => self.operate(name, value, operation, streams).await,
        }
    }

    fn parameter(&self, name: &str) -> Expanded<String> {
        match self.get(name) {
            Some(value) => Ok(value),
            None if self.options.nounset && !matches!(name, "@" | "*") => {
                let why = match self.dialect {
                    Dialect::Bash => "unbound variable",
                    Dialect::Posix => "parameter not set",
                };
                Err(ExpansionError(format!("{name}: {why}")))
            }
            None => Ok(String::new()),
        }
    }

    async fn operate(
        &mut self,
        name: &str,
        value: Option<String>,
        operation: &Operation,
        streams: &Streams,
    ) -> Expanded<String> {
        let mut texts = Vec::new();
        for (word, expansion) in parameter_operation::words(operation, value.as_deref()) {
            texts.push(match expansion {
                Expansion::Text => self.expand_text(word, streams).await?,
                Expansion::Pattern => self.expand_pattern(word, streams).await?,
                Expansion::Number => {
                    let expression = self.expand_text(word, streams).await?;
                    arithmetic(self, &expression).to_string()
                }
            });
        }
        let has_space = |size| self.process.reserve().grow(size);
        match parameter_operation::apply(operation, value, texts, has_space) {
            Operated::Text(text) => Ok(text),
            Operated::Assigned(text) => {
                self.set(name, text.clone());
                Ok(text)
            }
            Operated::Error(text) => Err(ExpansionError(format!("{name}: {text}"))),
            Operated::OutOfSpace => check_some(None),
        }
    }

    /// The output of a command substitution, without line feeds at its end.
    async fn substitute(&mut self, list: &List, streams: &Streams) -> String {
        let (stdout, buffer) = Output::buffer(self.process.reserve());
        let streams = Streams {
            stdout,
            ..streams.clone()
        };
        let mut subshell = self.subshell();
        subshell.run_list(list, &streams).await;
        self.status = subshell.status;
        let output = buffer.lock().take();
        let text = String::from_utf8_lossy(&output);
        text.trim_end_matches('\n').to_owned()
    }
}

/// Whether an expansion in quotes has a field for each value.
fn is_list(name: &str, index: Option<&Index>) -> bool {
    matches!(index, Some(Index::All)) || (index.is_none() && name == "@")
}
