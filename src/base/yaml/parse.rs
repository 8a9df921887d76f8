//! Parses text to trees: one [`Node`] per document, bounded in size and depth.

use std::collections::HashMap;

use granit_parser::{Event, Parser, Span};

use super::node_start::{EventKind, NodeStart, at, position};
use super::{Entry, Kind, Node, Position, Problem};

/// Limits of a text.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest text in bytes.
    pub bytes: usize,
    /// Most nodes in all documents together, including those repeated by aliases and kept by
    /// anchors.
    pub nodes: usize,
    /// Deepest nesting of collections.
    pub depth: usize,
}

impl Default for Limits {
    /// 8 MiB, 500,000 nodes and 100 levels, far above any hand-written manifest.
    fn default() -> Self {
        Self {
            bytes: 8 << 20,
            nodes: 500_000,
            depth: 100,
        }
    }
}

/// Parses every document of a text; a document without content is a [`Kind::Null`] node.
///
/// # Errors
/// The first syntax error, duplicate key or exceeded limit.
pub fn parse(text: &str, limits: Limits) -> Result<Vec<Node>, Problem> {
    if text.len() > limits.bytes {
        return Err(Problem::new(
            Position::START,
            format!("the file is larger than {} bytes", limits.bytes),
        ));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    let mut builder = Builder {
        events: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        left: limits.nodes,
        limit: limits.nodes,
    };
    builder.documents()
}

/// Parses the documents of a text, without those that have no content (separators or comments
/// only).
///
/// # Errors
/// As [`parse`].
pub fn documents(text: &str, limits: Limits) -> Result<Vec<Node>, Problem> {
    let mut documents = parse(text, limits)?;
    documents.retain(|d| !d.is_null());
    Ok(documents)
}

/// Bytes as text.
///
/// # Errors
/// The position of the first byte that is not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|e| {
        let good = String::from_utf8_lossy(&bytes[..e.valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        Problem::new(position(line, column), "the file is not UTF-8 text")
    })
}

/// Parses a text that holds exactly one document.
///
/// # Errors
/// As [`parse`]; also when there is no document or more than one.
pub fn parse_one(text: &str, limits: Limits) -> Result<Node, Problem> {
    let mut documents = documents(text, limits)?;
    if let Some(second) = documents.get(1) {
        return Err(Problem::new(second.at, "expected a single document"));
    }
    let empty = || Problem::new(Position::START, "the file is empty");
    documents.pop().ok_or_else(empty)
}

/// The comment at the start of a text, without its `#` marks; empty lines separate paragraphs.
pub fn leading_comment(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .skip_while(|l| l.is_empty())
        .map_while(|l| l.strip_prefix('#'))
        .map(|l| l.strip_prefix(' ').unwrap_or(l).trim_end())
        .collect();
    lines.join("\n").trim().to_owned()
}

struct Builder<'t> {
    events: Parser<'t, granit_parser::StrInput<'t>>,
    /// Anchored values; `None` while the value is still being read.
    anchors: HashMap<usize, Option<Node>>,
    left: usize,
    limit: usize,
}

impl Builder<'_> {
    fn next(&mut self) -> Result<Option<(Event<'_>, Span)>, Problem> {
        match self.events.next() {
            None => Ok(None),
            Some(Ok(pair)) => Ok(Some(pair)),
            Some(Err(e)) => Err(Problem::new(at(e.marker()), e.info())),
        }
    }

    fn documents(&mut self) -> Result<Vec<Node>, Problem> {
        let mut documents = Vec::new();
        loop {
            let Some((event, span)) = self.next()? else {
                return Ok(documents);
            };
            match event {
                Event::DocumentStart(..) => self.anchors.clear(),
                Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(documents),
                event => {
                    let head = NodeStart::of(event, span);
                    documents.push(self.node(head)?);
                }
            }
        }
    }

    /// Takes nodes from the budget.
    fn spend(&mut self, count: usize, at: Position) -> Result<(), Problem> {
        match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Problem::new(
                at,
                format!("the file holds more than {} values", self.limit),
            )),
        }
    }

    fn next_head(&mut self) -> Result<NodeStart, Problem> {
        match self.next()? {
            Some((event, span)) => Ok(NodeStart::of(event, span)),
            None => Err(Problem::new(Position::START, "unexpected end of text")),
        }
    }

    fn node(&mut self, head: NodeStart) -> Result<Node, Problem> {
        let position = head.at;
        self.spend(1, position)?;
        let (anchor, node) = match head.kind {
            EventKind::Scalar(anchor, node) => (anchor, node?),
            EventKind::Alias(id) => {
                let target = match self.anchors.get(&id) {
                    Some(Some(node)) => node.clone(),
                    _ => return Err(Problem::new(position, "this alias refers to itself")),
                };
                self.spend(size(&target), position)?;
                (0, target)
            }
            EventKind::List(anchor) => {
                self.open(anchor);
                let mut items = Vec::new();
                loop {
                    let head = self.next_head()?;
                    if matches!(head.kind, EventKind::End) {
                        break;
                    }
                    items.push(self.node(head)?);
                }
                (anchor, Node::new(position, Kind::List(items)))
            }
            EventKind::Map(anchor) => {
                self.open(anchor);
                let kind = Kind::Map(self.entries()?);
                (anchor, Node::new(position, kind))
            }
            EventKind::End => return Err(Problem::new(position, "a value is missing")),
        };
        if anchor != 0 {
            // Nested anchors keep their parts several times.
            self.spend(size(&node), position)?;
            self.anchors.insert(anchor, Some(node.clone()));
        }
        Ok(node)
    }

    fn open(&mut self, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
    }

    fn entries(&mut self) -> Result<Vec<Entry>, Problem> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut merged: Vec<Entry> = Vec::new();
        loop {
            let head = self.next_head()?;
            if matches!(head.kind, EventKind::End) {
                break;
            }
            let position = head.at;
            let merge = head.merge;
            let key = key_text(&self.node(head)?)?;
            let value_head = self.next_head()?;
            let value = self.node(value_head)?;
            if merge {
                merge_into(&mut merged, value)?;
                continue;
            }
            if let Some(line) = seen.insert(key.clone(), position.line) {
                return Err(Problem::new(
                    position,
                    format!("the key {key:?} is given twice, first on line {line}"),
                ));
            }
            entries.push(Entry {
                key,
                at: position,
                value,
            });
        }
        // A mapping's own entries override merged ones.
        for entry in merged {
            if !seen.contains_key(&entry.key) {
                self.spend(size(&entry.value), entry.at)?;
                seen.insert(entry.key.clone(), entry.at.line);
                entries.push(entry);
            }
        }
        Ok(entries)
    }
}

/// A mapping key as JSON spells it.
fn key_text(node: &Node) -> Result<String, Problem> {
    match &node.kind {
        Kind::Text(s) => Ok(s.clone()),
        Kind::Bool(b) => Ok(b.to_string()),
        Kind::Number(n) => Ok(n.to_string()),
        Kind::Null => Err(Problem::new(node.at, "a key is missing before the colon")),
        Kind::List(_) | Kind::Map(_) => Err(Problem::new(
            node.at,
            format!("a key has to be a string, not {}", node.describe()),
        )),
    }
}

/// Collects the entries of a `<<` key; of two sources the first wins.
fn merge_into(merged: &mut Vec<Entry>, value: Node) -> Result<(), Problem> {
    match value.kind {
        Kind::Map(entries) => {
            for entry in entries {
                if !merged.iter().any(|e| e.key == entry.key) {
                    merged.push(entry);
                }
            }
            Ok(())
        }
        Kind::List(items) => items.into_iter().try_for_each(|i| match i.kind {
            Kind::Map(_) => merge_into(merged, i),
            _ => Err(Problem::new(i.at, "only mappings can be merged with <<")),
        }),
        _ => Err(Problem::new(
            value.at,
            "only a mapping or a list of mappings can be merged with <<",
        )),
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.kind {
        Kind::List(items) => items.iter().map(size).sum::<usize>(),
        Kind::Map(entries) => entries.iter().map(|e| 1 + size(&e.value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn all(text: &str) -> Vec<Node> {
        parse(text, Limits::default()).unwrap()
    }

    fn problem(text: &str) -> String {
        parse(text, Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn documents_keep_their_positions() {
        let docs = all("# a\na: 1\n---\n---\n- b:\n    c: yes\n");
        assert_eq!(docs.len(), 3);
        assert!(docs[1].is_null());
        assert_eq!(docs[2].to_json(), json!([{"b": {"c": true}}]));
        let Kind::List(items) = &docs[2].kind else {
            panic!()
        };
        let c = items[0].get("b").unwrap().entry("c").unwrap();
        assert_eq!(c.at.to_string(), "6:5");
        assert_eq!(c.value.at.to_string(), "6:8");
    }

    #[test]
    fn crlf_and_a_byte_order_mark_change_nothing() {
        let docs = all("\u{feff}a: x\r\nb:\r\n- 1\r\n");
        assert_eq!(docs[0].to_json(), json!({"a": "x", "b": [1]}));
        assert_eq!(docs[0].entry("b").unwrap().at.line, 2);
    }

    #[test]
    fn a_duplicate_key_is_rejected() {
        assert_eq!(
            problem("metadata:\nname: a\nspec:\nname: b\n"),
            r#"4:1: the key "name" is given twice, first on line 2"#
        );
    }

    #[test]
    fn aliases_and_merges() {
        let docs = all("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\nc: *x\n");
        assert_eq!(
            docs[0].to_json(),
            json!({"a": {"p": 1, "q": 2}, "b": {"q": 3, "p": 1}, "c": {"p": 1, "q": 2}})
        );
    }

    #[test]
    fn an_alias_bomb_is_rejected() {
        let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for i in 1..12 {
            let refs = vec![format!("*a{}", i - 1); 10].join(",");
            text.push_str(&format!("a{i}: &a{i} [{refs}]\n"));
        }
        assert!(problem(&text).contains("more than 500000 values"));
        assert!(
            problem(&"[".repeat(5000)).contains("imit") || !problem(&"[".repeat(5000)).is_empty()
        );
    }

    #[test]
    fn invalid_utf8_has_a_position() {
        let e = utf8(b"a: 1\nb: \xff\n").unwrap_err();
        assert_eq!(e.to_string(), "2:4: the file is not UTF-8 text");
    }

    #[test]
    fn tags() {
        assert_eq!(all("!!str 6")[0].to_json(), json!("6"));
        assert!(problem("a: !env HOME").starts_with("1:"));
    }

    #[test]
    fn leading_comment_is_the_first_paragraphs() {
        let text =
            "\n# Teaches borrowing.\n#\n#   kubectl get cq\nkind: X # not this\n# nor this\n";
        assert_eq!(
            leading_comment(text),
            "Teaches borrowing.\n\n  kubectl get cq"
        );
        assert_eq!(leading_comment("kind: X\n# late"), "");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-c:&*<\\-\\[\\]{},\"'|>!%@#\n\t 0-9]{0,200}") {
            let _ = parse(&text, Limits { bytes: 1 << 20, nodes: 5000, ..Limits::default() });
        }

        #[test]
        fn json_parses_to_the_same_value_as_yaml(text in "[\\PC]{0,30}", n in any::<i64>(), f in -1e9f64..1e9) {
            let value = json!({"t": text, "n": n, "l": [null, true, {"f": f}]});
            let parsed = parse_one(&value.to_string(), Limits::default()).unwrap().to_json();
            prop_assert_eq!(parsed, value);
        }
    }
}
