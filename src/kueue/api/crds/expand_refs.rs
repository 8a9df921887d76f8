//! Expands schemas of the embedded text. Each line is a name, a space and JSON; `"$ref":"Name"`
//! refers to a shared part.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use serde_json::Value;

/// The schemas of all versions and their shared parts, generated (see `generate`).
pub(super) const SCHEMAS: &str = include_str!("schemas.txt");

/// The maximum nesting of shared parts.
const MAX_DEPTH: usize = 32;

const REF_KEY: &str = r#""$ref":""#;

/// The expanded schema of a version.
pub(super) fn schema(plural: &str, version: &str) -> Option<String> {
    let compact = schema_json(&format!("{plural}/{version}"))?;
    let mut whole = String::with_capacity(compact.len() * 4);
    expand(compact, &mut whole, 0);
    Some(whole)
}

/// A line of the text, parsed lazily.
struct SchemaLine {
    json: &'static str,
    parsed: OnceLock<Value>,
}

/// The line of a name, from an index of offsets that is built on first use.
fn find_line(name: &str) -> Option<&'static SchemaLine> {
    static INDEX: LazyLock<BTreeMap<&str, SchemaLine>> = LazyLock::new(|| {
        let lines = SCHEMAS.lines().filter_map(|l| l.split_once(' '));
        lines
            .map(|(name, json)| {
                (
                    name,
                    SchemaLine {
                        json,
                        parsed: OnceLock::new(),
                    },
                )
            })
            .collect()
    });
    INDEX.get(name)
}

/// The JSON after a name.
fn schema_json(name: &str) -> Option<&'static str> {
    find_line(name).map(|l| l.json)
}

/// The JSON after a name as a value; each line is parsed at most once.
pub(super) fn parsed_schema(name: &str) -> Option<&'static Value> {
    let line = find_line(name)?;
    // A test checks that the text is JSON.
    Some(
        line.parsed
            .get_or_init(|| serde_json::from_str(line.json).unwrap_or_default()),
    )
}

/// Copies `json` and replaces each `$ref` by the members of its shared part. Quotes in strings are
/// escaped, so a match is always a reference.
fn expand(json: &str, whole: &mut String, depth: usize) {
    let mut rest = json;
    while let Some((before, after)) = rest.split_once(REF_KEY) {
        whole.push_str(before);
        let Some((name, after)) = after.split_once('"') else {
            break;
        };
        let shared = schema_json(name).and_then(|l| l.strip_prefix('{')?.strip_suffix('}'));
        if let Some(members) = shared.filter(|_| depth < MAX_DEPTH) {
            expand(members, whole, depth + 1);
        }
        rest = after;
    }
    whole.push_str(rest);
}
