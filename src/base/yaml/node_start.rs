//! The parser's events as owned values, with scalars resolved.

use granit_parser::{Event, Marker, ScalarStyle, Span, Tag};

use super::{Kind, Node, Position, Problem, scalar};

/// A position, from numbers that count from 1.
pub(super) fn position(line: usize, column: usize) -> Position {
    let cut = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position {
        line: cut(line),
        column: cut(column),
    }
}

/// A position, from the parser's mark.
pub(super) fn at(mark: &Marker) -> Position {
    position(mark.line(), mark.col() + 1)
}

/// The start of a node, as an owned value.
pub(super) struct NodeStart {
    /// Its position.
    pub(super) at: Position,
    /// What starts or ends here.
    pub(super) kind: EventKind,
    /// A plain `<<`: as a key it is a merge key.
    pub(super) merge: bool,
}

/// What a parser event starts or ends; an anchor of 0 means none.
pub(super) enum EventKind {
    Scalar(usize, Result<Node, Problem>),
    Alias(usize),
    List(usize),
    Map(usize),
    End,
}

impl NodeStart {
    pub(super) fn of(event: Event<'_>, span: Span) -> Self {
        let position = at(&span.start);
        let mut merge = false;
        let kind = match event {
            Event::Scalar(text, style, anchor, tag) => {
                merge = style == ScalarStyle::Plain && text == "<<";
                EventKind::Scalar(anchor, read_scalar(&text, style, tag.as_deref(), position))
            }
            Event::Alias(id) => EventKind::Alias(id),
            Event::SequenceStart(_, anchor, _) => EventKind::List(anchor),
            Event::MappingStart(_, anchor, _) => EventKind::Map(anchor),
            _ => EventKind::End,
        };
        Self {
            at: position,
            kind,
            merge,
        }
    }
}

fn read_scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    position: Position,
) -> Result<Node, Problem> {
    let plain = style == ScalarStyle::Plain;
    let wrong = |message: String| Problem::new(position, message);
    let resolved = || scalar::plain(text).map_err(|error| wrong(error.to_string()));
    let kind = match tag.map(ToString::to_string) {
        None if plain => resolved()?,
        None => Kind::Text(text.to_owned()),
        Some(tag) => match tag.rsplit([':', '!']).next().unwrap_or_default() {
            "str" | "" => Kind::Text(text.to_owned()),
            "int" | "float" | "bool" | "null" => resolved()?,
            _ => return Err(wrong(format!("the tag {tag} is not supported"))),
        },
    };
    let mut node = Node::new(position, kind);
    if matches!(node.kind, Kind::Bool(_) | Kind::Number(_)) {
        node.written = text.into();
    }
    Ok(node)
}
