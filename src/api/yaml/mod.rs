//! YAML with positions: documents as trees that know where each part stands, and typed reading whose
//! errors name line and column.
//!
//! Scalars mean what they mean to kubectl (YAML 1.1 as Go reads it: `yes` is true, `0777` is octal).
//! Duplicate keys are refused, unknown fields reported. Must not know any kind.

mod compose;
mod de;
mod scalar;

use std::fmt;

use serde_json::{Map, Number, Value};

pub use compose::documents;
pub use de::{Unknown, read};

/// The most bytes a text may have.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How deep a document may be nested.
pub const MAX_DEPTH: usize = 100;
/// The most parts all documents of a text may have, with aliases written out.
pub const MAX_NODES: usize = 500_000;

/// A place in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {}{message}", at.line, at.column, prefix(path))]
pub struct YamlError {
    /// Where.
    pub at: Position,
    /// The field, such as `spec.levels[0]`; empty where the text is no YAML at all.
    pub path: String,
    /// What.
    pub message: String,
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub content: Content,
    /// Where it begins.
    pub at: Position,
}

/// What a part of a document is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing, or `null`.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the text.
    Map(Vec<Entry>),
}

/// A member of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key; numbers and the like as text.
    pub key: String,
    /// Where the key begins.
    pub key_at: Position,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The members, where this is a map.
    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, where this is a list.
    pub fn items(&self) -> &[Node] {
        match &self.content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// The text, where this is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// The member of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|e| e.key == key)
            .map(|e| &e.value)
    }

    /// The member of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.content {
            Content::Map(entries) => entries
                .iter_mut()
                .find(|e| e.key == key)
                .map(|e| &mut e.value),
            _ => None,
        }
    }

    /// The part as JSON, without positions.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(b) => Value::Bool(*b),
            Content::Number(n) => Value::Number(n.clone()),
            Content::String(s) => Value::String(s.clone()),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), e.value.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// Where a field stands, such as `spec.groups[0].usage[cpu]`; where it is not there, the nearest
    /// part around it that is. A member stands where its key does.
    pub fn locate(&self, path: &str) -> Position {
        let (mut node, mut at) = (self, self.at);
        for step in steps(path) {
            let found = match (step, &node.content) {
                (Step::Item(key), Content::List(items)) => {
                    let by_name = |n: &&Node| n.get("name").and_then(Node::as_str) == Some(key);
                    let index = key.parse::<usize>().ok().and_then(|i| items.get(i));
                    index
                        .or_else(|| items.iter().find(by_name))
                        .map(|n| (n, n.at))
                }
                (Step::Member(key), Content::List(items)) => key
                    .parse::<usize>()
                    .ok()
                    .and_then(|i| items.get(i))
                    .map(|n| (n, n.at)),
                (Step::Member(key) | Step::Item(key), Content::Map(entries)) => entries
                    .iter()
                    .find(|e| e.key == key)
                    .map(|e| (&e.value, e.key_at)),
                _ => None,
            };
            let Some((next, next_at)) = found else { break };
            (node, at) = (next, next_at);
        }
        at
    }
}

/// A step on the way to a field.
enum Step<'a> {
    /// `.name`
    Member(&'a str),
    /// `[0]` or `[key]`
    Item(&'a str),
}

fn steps(path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (item, after) = inner.split_once(']').unwrap_or((inner, ""));
            steps.push(Step::Item(item));
            rest = after;
        } else {
            let rest_of = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest_of.find(['.', '[']).unwrap_or(rest_of.len());
            steps.push(Step::Member(&rest_of[..end]));
            rest = &rest_of[end..];
            if end == 0 && rest.is_empty() {
                break;
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests;
