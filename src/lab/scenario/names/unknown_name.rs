//! [`UnknownName`]: a name in a step that no object has.

use kueue_lab_yaml::{Kind, Node, Position, Problem, closest};

/// The maximum number of names that a message lists.
const MAX_NAMES: usize = 20;

/// A name in a step or expectation that no object has.
#[derive(Debug)]
pub(crate) struct UnknownName {
    /// The start of the step or expectation.
    at: Position,
    /// The name as it is written there.
    name: String,
    message: String,
}

impl UnknownName {
    /// A name, with a message in which it need not be the only one.
    pub(crate) fn new(at: Position, name: &str, message: impl Into<String>) -> Self {
        Self {
            at,
            name: name.to_owned(),
            message: message.into(),
        }
    }

    /// The name of an object that is none of the `known`.
    pub(crate) fn among<'n>(
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
        at: Position,
    ) -> Self {
        let remedy = remedy(name, known);
        // A name with a namespace is written without it.
        let written = name.split_once('/').map_or(name, |(_, name)| name);
        Self::new(
            at,
            written,
            format!("there is no {kind} {name:?}; {remedy}"),
        )
    }

    /// The problem, at the start of the step or expectation.
    pub(crate) fn at_its_start(self) -> Problem {
        Problem::new(self.at, self.message)
    }

    /// The problem, at the position of the name in a document.
    pub(crate) fn problem(self, document: &Node) -> Problem {
        let step = find(document, &|node| {
            (node.at == self.at && matches!(node.kind, Kind::Map(_))).then_some(node)
        });
        let named = step.and_then(|step| position_of(step, &self.name));
        Problem::new(named.unwrap_or(self.at), self.message)
    }
}

/// The closest of the names, or all of them.
pub(crate) fn remedy<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    if let Some(guess) = closest(name, known.clone()) {
        return format!("did you mean {guess:?}?");
    }
    let names: Vec<&str> = known.take(MAX_NAMES).collect();
    match names.is_empty() {
        true => "the queue configuration has none".to_owned(),
        false => format!("there are {}", names.join(", ")),
    }
}

/// The first result for a node or one below it.
fn find<'n, T>(node: &'n Node, of: &impl Fn(&'n Node) -> Option<T>) -> Option<T> {
    let below = || {
        let entries = node.entries().iter().map(|entry| &entry.value);
        let mut children = entries.chain(node.items());
        children.find_map(|child| find(child, of))
    };
    of(node).or_else(below)
}

/// The position of a text that is a value, or else a key.
fn position_of(step: &Node, text: &str) -> Option<Position> {
    let value = find(step, &|node| {
        (node.as_str() == Some(text)).then_some(node.at)
    });
    value.or_else(|| find(step, &|node| node.entry(text).map(|entry| entry.at)))
}
