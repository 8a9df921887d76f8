//! Parses assignments, words and function definitions.

use std::sync::Arc;

use super::ast::{AssignedValue, Assignment, Command, SimpleCommand, Word};
use super::parser::{Dialect, ParseError, Parser};

impl Parser {
    pub(super) fn simple_command(&mut self) -> Result<Command, ParseError> {
        let mut command = SimpleCommand::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                continue;
            }
            if command.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                command.assignments.push(assignment);
                continue;
            }
            let before = self.at;
            let Some(word) = self.word()? else { break };
            command.words.push(word);
            // A function definition.
            if command.words.len() == 1 && command.assignments.is_empty() {
                let name: String = self.text[before..self.at].iter().collect();
                self.skip_blanks();
                if self.peek() == Some('(') {
                    self.at += 1;
                    self.skip_blanks();
                    self.expect(')')?;
                    return self.function_body(name);
                }
            }
        }
        let is_empty = command.words.is_empty()
            && command.assignments.is_empty()
            && command.redirects.is_empty();
        match is_empty {
            true => Err(self.unexpected()),
            false => Ok(Command::Simple(command)),
        }
    }

    pub(super) fn function_body(&mut self, name: String) -> Result<Command, ParseError> {
        self.skip_newlines()?;
        let body = self.command()?;
        Ok(Command::Function(name, Arc::new(body)))
    }

    fn assignment(&mut self) -> Result<Option<Assignment>, ParseError> {
        let before = self.at;
        let name = self.name();
        let is_bash = self.dialect == Dialect::Bash;
        let index = match is_bash && !name.is_empty() && self.accept("[") {
            true => {
                // A pattern may start like an index.
                match self.arithmetic_until("]") {
                    Ok(index) => Some(index),
                    Err(_) => {
                        self.at = before;
                        return Ok(None);
                    }
                }
            }
            false => None,
        };
        let appends = is_bash && self.accept("+=");
        if name.is_empty() || !(appends || self.accept("=")) {
            self.at = before;
            return Ok(None);
        }
        let value = match is_bash && index.is_none() && self.accept("(") {
            true => AssignedValue::Elements(self.elements()?),
            false => AssignedValue::Text(self.word()?.unwrap_or_default()),
        };
        Ok(Some(Assignment {
            name,
            index,
            appends,
            value,
        }))
    }

    /// The elements of an array up to its closing parenthesis.
    fn elements(&mut self) -> Result<Vec<Word>, ParseError> {
        let mut elements = Vec::new();
        loop {
            self.skip_newlines()?;
            match self.word()? {
                Some(element) => elements.push(element),
                None => {
                    self.expect(')')?;
                    return Ok(elements);
                }
            }
        }
    }
}
