//! The tree a YAML document becomes: values with the place they stand at.

use serde_json::{Map, Number, Value};

use super::Position;

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where the value begins. For a value that an alias stands for: where it was defined.
    pub at: Position,
    /// The value.
    pub kind: Kind,
    /// How a plain scalar that is not a string was written (`yes`, `0x10`); empty otherwise.
    pub written: Box<str>,
}

/// What a node is.
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
    /// The key; numbers and booleans are spelled as JSON spells them.
    pub key: String,
    /// Where the key begins.
    pub at: Position,
    /// The value.
    pub value: Node,
}

impl Node {
    /// A value that stands at a place.
    pub fn new(at: Position, kind: Kind) -> Self {
        Self {
            at,
            kind,
            written: Box::default(),
        }
    }

    /// Whether there is nothing here.
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

    /// The entries; none where it is not a mapping.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items; none where it is not a list.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The entry of a key, if this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|e| e.key == key)
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.value)
    }

    /// The value of a key, to be changed.
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

    /// What the value is, in words: "the number 6", "a list".
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
