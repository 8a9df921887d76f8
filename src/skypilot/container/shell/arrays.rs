//! Arrays of `bash`.

use std::collections::BTreeMap;

use kueue_lab_shell::arithmetic;

use super::expansion::ExpansionError;
use super::state::Shell;
use crate::streams::Streams;
use kueue_lab_shell::syntax::{AssignedValue, Assignment, Word};

/// Arrays by name, with their elements by index.
pub(super) type Arrays = BTreeMap<String, BTreeMap<u64, String>>;

/// Bytes that an element counts in addition to its text.
const ELEMENT: usize = 16;

/// The size of arrays, in bytes.
pub(super) fn size(arrays: &Arrays) -> usize {
    let elements = arrays.values().flat_map(BTreeMap::values);
    elements.map(|element| element.len() + ELEMENT).sum()
}

/// An assignment with its expanded value.
pub(super) enum Assigned {
    Text(String, String),
    Array(String, BTreeMap<u64, String>),
}

impl Assigned {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Text(name, _) | Self::Array(name, _) => name,
        }
    }

    /// The value for the environment of a command, in which there are no arrays.
    pub(super) fn into_text(self) -> Option<(String, String)> {
        match self {
            Self::Text(name, text) => Some((name, text)),
            Self::Array(..) => None,
        }
    }
}

impl Shell {
    /// The elements of an array; a variable is one of one element.
    pub(super) fn elements(&self, name: &str) -> BTreeMap<u64, String> {
        match self.arrays.get(name) {
            Some(elements) => elements.clone(),
            None if matches!(name, "@" | "*") => (0..).zip(self.positional.clone()).collect(),
            None => self.get(name).map(|value| (0, value)).into_iter().collect(),
        }
    }

    /// The index that an arithmetic expression has; a negative one counts from the end.
    pub(super) async fn array_index(
        &mut self,
        name: &str,
        expression: &Word,
        streams: &Streams,
    ) -> Result<u64, ExpansionError> {
        let expression = Box::pin(self.expand_text(expression, streams)).await?;
        let index = arithmetic(self, &expression);
        let end = self
            .elements(name)
            .last_key_value()
            .map_or(0, |(i, _)| i + 1);
        let counted = match index < 0 {
            true => end.checked_sub(index.unsigned_abs()),
            false => Some(index.unsigned_abs()),
        };
        counted.ok_or_else(|| ExpansionError(format!("{name}: bad array subscript")))
    }

    /// Expands the value of an assignment.
    pub(super) async fn expand_assignment(
        &mut self,
        assignment: &Assignment,
        streams: &Streams,
    ) -> Result<Assigned, ExpansionError> {
        let name = assignment.name.clone();
        let before = |shell: &Self| match assignment.appends {
            true => shell.elements(&name),
            false => BTreeMap::new(),
        };
        match &assignment.value {
            AssignedValue::Elements(words) => {
                let added = self.expand_words(words, streams).await?;
                let mut elements = before(self);
                let next = elements.last_key_value().map_or(0, |(i, _)| i + 1);
                elements.extend((next..).zip(added.words));
                Ok(Assigned::Array(name, elements))
            }
            AssignedValue::Text(word) => {
                let text = self.expand_text(word, streams).await?;
                let index = match &assignment.index {
                    Some(index) => Some(self.array_index(&name, index, streams).await?),
                    None => None,
                };
                let old = before(self).remove(&index.unwrap_or(0));
                let text = old.unwrap_or_default() + &text;
                match index {
                    None => Ok(Assigned::Text(name, text)),
                    Some(index) => {
                        let mut elements = self.elements(&name);
                        elements.insert(index, text);
                        Ok(Assigned::Array(name, elements))
                    }
                }
            }
        }
    }

    /// Assigns a value. False if the variable is read-only or there is no space.
    pub(super) fn assign_value(&mut self, assigned: Assigned) -> bool {
        let (name, elements) = match assigned {
            Assigned::Text(name, text) => return self.set(&name, text),
            Assigned::Array(name, elements) => (name, elements),
        };
        let added: usize = elements.values().map(|e| e.len() + ELEMENT).sum();
        if self.is_read_only(&name) || !self.has_space(added) {
            return false;
        }
        self.unset(&name);
        self.arrays.insert(name, elements);
        true
    }
}
