//! The tree of a YAML document: values with their positions.

use serde_json::{Map, Number, Value};

use super::Position;

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The start of the value; for an alias, the start of the anchored value.
    pub at: Position,
    /// The value.
    pub kind: Kind,
    /// The source text of a plain scalar that is not a string (`yes`, `0x10`); empty otherwise.
    pub written: Box<str>,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `null`, `~` or nothing at all.
    Null,
    /// A boolean, in any of YAML 1.1's spellings.
    Bool(bool),
    /// A number; integers keep all 64 bits.
    Number(Number),
    /// A string.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order written, keys unique.
    Map(Vec<Entry>),
}

/// One key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key; numbers and booleans as JSON writes them.
    pub key: String,
    /// Where the key begins.
    pub at: Position,
    /// The value.
    pub value: Node,
}

impl Node {
    /// A value at a position.
    pub fn new(at: Position, kind: Kind) -> Self {
        Self {
            at,
            kind,
            written: Box::default(),
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(s) => Some(s),
            _ => None,
        }
    }

    /// The entries; empty unless it is a mapping.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items; empty unless it is a list.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The entry of a key, if this is a mapping that contains it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|e| e.key == key)
    }

    /// The value of a key, if this is a mapping that contains it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.value)
    }

    /// The mutable value of a key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.kind {
            Kind::Map(entries) => {
                let mut entries = entries.iter_mut();
                entries.find(|e| e.key == key).map(|e| &mut e.value)
            }
            _ => None,
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::Text(s) => Value::String(s.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), e.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// A description of the value: "the number 6", "a list".
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".into(),
            Kind::Bool(_) => format!("the boolean {}", self.written),
            Kind::Number(_) => format!("the number {}", self.written),
            Kind::Text(s) => {
                let short: String = s.chars().take(40).collect();
                let more = if short.len() < s.len() { "…" } else { "" };
                format!("the string {short:?}{more}")
            }
            Kind::List(_) => "a list".into(),
            Kind::Map(_) => "a mapping".into(),
        }
    }
}
