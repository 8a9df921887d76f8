//! From text to trees.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{
    Event, Marker, Options, Parser, ScalarStyle, Span, StrInput, Tag,
};

use super::{Content, Entry, MAX_BYTES, MAX_DEPTH, MAX_NODES, Node, Position, YamlError, scalar};

/// The documents of a text; empty ones, which only separators or comments make, are left out. A byte
/// order mark and Windows line ends do not matter.
///
/// # Errors
/// The text is no YAML, has a key twice in one map, or goes beyond the limits.
pub fn documents(text: &str) -> Result<Vec<Node>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        return Err(error(start, format!("more than {MAX_BYTES} bytes")));
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    let parser = Parser::new_from_str_with_options(text, options);
    let mut composer = Composer {
        parser,
        nodes: 0,
        kept: 0,
        anchors: BTreeMap::new(),
    };
    let mut documents = Vec::new();
    loop {
        match composer.next()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::DocumentStart(..), _) => {
                composer.anchors.clear();
                let (event, span) = composer.next()?;
                let root = composer.node(event, span, 0)?;
                if root.content != Content::Null {
                    documents.push(root);
                }
            }
            _ => {}
        }
    }
}

struct Composer<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// How many parts there are so far.
    nodes: usize,
    /// How many parts are kept for aliases; nested anchors keep theirs several times.
    kept: usize,
    /// Anchored parts of the document by the parser's number, with how many parts each has.
    anchors: BTreeMap<usize, (Node, usize)>,
}

impl<'t> Composer<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(e)) => Err(error(position(*e.marker()), e.info())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn count(&mut self, nodes: usize, at: Position) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(error(
                at,
                format!("more than {MAX_NODES} values, aliases written out"),
            ));
        }
        Ok(())
    }

    /// The part that begins with an event.
    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, YamlError> {
        let at = position(span.start);
        if depth > MAX_DEPTH {
            return Err(error(at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let before = self.nodes;
        self.count(1, at)?;
        let (content, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => (resolve(&text, style, tag, at)?, anchor),
            Event::SequenceStart(_, anchor, _) => (self.list(depth)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.map(depth)?, anchor),
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(error(at, "an alias inside what it stands for".to_owned()));
                };
                self.count(size, at)?;
                return Ok(node);
            }
            _ => (Content::Null, 0),
        };
        let node = Node { content, at };
        if anchor != 0 {
            let size = self.nodes - before;
            self.kept = self.kept.saturating_add(size);
            if self.kept > MAX_NODES {
                return Err(error(
                    at,
                    format!("more than {MAX_NODES} values under anchors"),
                ));
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Content, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Content::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Content, YamlError> {
        let mut seen: BTreeMap<String, Position> = BTreeMap::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let merge =
                matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let key_node = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            let key_at = key_node.at;
            if merge {
                merged.extend(merged_entries(value)?);
                continue;
            }
            let key = key_text(key_node)?;
            if let Some(first) = seen.insert(key.clone(), key_at) {
                let message = format!("key {key:?} is there already, at line {}", first.line);
                return Err(error(key_at, message));
            }
            entries.push(Entry { key, key_at, value });
        }
        for entry in merged {
            if seen.insert(entry.key.clone(), entry.key_at).is_none() {
                entries.push(entry);
            }
        }
        Ok(Content::Map(entries))
    }
}

/// What `<<` brings in: the members of a map, or of several.
fn merged_entries(value: Node) -> Result<Vec<Entry>, YamlError> {
    match value.content {
        Content::Map(entries) => Ok(entries),
        Content::List(maps) => maps
            .into_iter()
            .map(merged_entries)
            .collect::<Result<Vec<_>, _>>()
            .map(|lists| lists.into_iter().flatten().collect()),
        _ => Err(error(value.at, "only maps can be merged".to_owned())),
    }
}

/// A key as JSON has it: text.
fn key_text(key: Node) -> Result<String, YamlError> {
    Ok(match key.content {
        Content::String(text) => text,
        Content::Bool(b) => b.to_string(),
        Content::Number(n) => n.to_string(),
        Content::Null => "null".to_owned(),
        Content::List(_) | Content::Map(_) => {
            return Err(error(key.at, "a key must be text".to_owned()));
        }
    })
}

fn resolve(
    text: &str,
    style: ScalarStyle,
    tag: Option<Cow<'_, Tag>>,
    at: Position,
) -> Result<Content, YamlError> {
    let string = || Ok(Content::String(text.to_owned()));
    match tag.as_deref().map(|t| (t, t.core_suffix())) {
        None if style == ScalarStyle::Plain => scalar::plain(text).map_err(|m| error(at, m)),
        None | Some((_, Some("str"))) => string(),
        Some((_, Some("null" | "bool" | "int" | "float"))) => {
            scalar::plain(text).map_err(|m| error(at, m))
        }
        Some((tag, _)) => Err(error(
            at,
            format!("the tag {} is not supported", tag.original()),
        )),
    }
}

fn position(marker: Marker) -> Position {
    Position {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

fn error(at: Position, message: String) -> YamlError {
    YamlError {
        at,
        path: String::new(),
        message,
    }
}
