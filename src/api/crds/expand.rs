//! Schemas out of the embedded text: each line is a name, a space and JSON; a shared part is used as
//! `"$ref":"Name"` and written once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The schemas of all versions and their shared parts, generated (see `generate`).
pub(super) const SCHEMAS: &str = include_str!("schemas.txt");

/// How deep shared parts may be nested; none is nearly this deep.
const MAX_DEPTH: usize = 32;

const USE: &str = r#""$ref":""#;

/// The schema of a version, whole.
pub(super) fn schema(plural: &str, version: &str) -> Option<String> {
    let compact = line(&format!("{plural}/{version}"))?;
    let mut whole = String::with_capacity(compact.len() * 4);
    expand(compact, &mut whole, 0);
    Some(whole)
}

/// The JSON after a name. The index is made on first use and holds only where the lines are.
fn line(name: &str) -> Option<&'static str> {
    static INDEX: LazyLock<BTreeMap<&str, &str>> =
        LazyLock::new(|| SCHEMAS.lines().filter_map(|l| l.split_once(' ')).collect());
    INDEX.get(name).copied()
}

/// Copies `json`, putting the members of a shared part in the place of each use. A quote inside a
/// string is escaped, so what looks like a use is one.
fn expand(json: &str, whole: &mut String, depth: usize) {
    let mut rest = json;
    while let Some((before, after)) = rest.split_once(USE) {
        whole.push_str(before);
        let Some((name, after)) = after.split_once('"') else {
            break;
        };
        let shared = line(name).and_then(|l| l.strip_prefix('{')?.strip_suffix('}'));
        if let Some(members) = shared.filter(|_| depth < MAX_DEPTH) {
            expand(members, whole, depth + 1);
        }
        rest = after;
    }
    whole.push_str(rest);
}
