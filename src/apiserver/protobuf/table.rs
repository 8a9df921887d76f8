//! Message table, parsed from `fields.txt` on first use.
//!
//! An unindented line starts a message; the indented lines below it list number, JSON name and type
//! of its fields. The name `>` inlines the fields of that message into the JSON object, `*`
//! replaces the message by its only field. Types: `s` string, `b` boolean, `i` integer, `f` number,
//! `y` bytes, `T` time, `U` time with microseconds, `D` duration, `Q` quantity, `I` integer or
//! string, `R` embedded JSON, `F` a field set, otherwise a message; the prefix `[]` denotes a list,
//! `{}` a map.

use std::collections::HashMap;
use std::sync::LazyLock;

static TEXT: &str = include_str!("fields.txt");

/// A message and its fields, sorted by number.
#[derive(Debug)]
pub(super) struct Message {
    package: &'static str,
    pub(super) fields: Vec<Field>,
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) cardinality: Cardinality,
    pub(super) kind: &'static str,
}

/// Cardinality of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    One,
    List,
    Map,
}

static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let mut messages = HashMap::new();
    let mut current: Option<(&'static str, Message)> = None;
    for line in TEXT.lines() {
        if let Some(field) = line.strip_prefix(' ') {
            if let (Some((_, message)), Some(field)) = (&mut current, parse(field)) {
                message.fields.push(field);
            }
            continue;
        }
        let package = line.rsplit_once('.').map_or("", |(package, _)| package);
        let opened = (
            line,
            Message {
                package,
                fields: Vec::new(),
            },
        );
        if let Some((name, message)) = current.replace(opened) {
            messages.insert(name, message);
        }
    }
    messages.extend(current);
    messages
});

fn parse(line: &'static str) -> Option<Field> {
    let mut parts = line.split(' ');
    let (number, name, kind) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let (many, kind) = match (kind.strip_prefix("[]"), kind.strip_prefix("{}")) {
        (Some(item), _) => (Cardinality::List, item),
        (_, Some(value)) => (Cardinality::Map, value),
        _ => (Cardinality::One, kind),
    };
    Some(Field {
        number,
        name,
        cardinality: many,
        kind,
    })
}

impl Message {
    /// Returns the field with the given number.
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        let at = self
            .fields
            .binary_search_by_key(&number, |f| f.number)
            .ok()?;
        self.fields.get(at)
    }

    /// Returns the message type that a field of this message refers to.
    pub(super) fn refer(&self, kind: &str) -> Option<&'static Message> {
        if kind.contains('.') {
            return MESSAGES.get(kind);
        }
        MESSAGES.get(format!("{}.{kind}", self.package).as_str())
    }
}

/// Returns the message of a kind.
pub(super) fn message_of(api_version: &str, kind: &str) -> Option<&'static Message> {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or_default();
    let find = |package: &str| MESSAGES.get(format!("{package}.{version}.{kind}").as_str());
    // Types of `meta.v1`, such as DeleteOptions, are served in every group.
    find(package).or_else(|| MESSAGES.get(format!("meta.v1.{kind}").as_str()))
}
