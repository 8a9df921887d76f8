//! Resolves field paths of Kubernetes error messages (`spec.flavors[0].name`,
//! `metadata.labels[kueue.x-k8s.io/queue-name]`) to positions in the file.

use super::{Entry, Kind, Node, Position};

impl Node {
    /// The position of a field path: of the key for a member, of the item for a list index or an
    /// item name. If the file has no such field, the position of the deepest ancestor that exists.
    pub fn locate(&self, path: &str) -> Position {
        let (mut node, mut position) = (self, self.at);
        let mut rest = path.trim_start_matches(['.', '$']);
        while !rest.is_empty() {
            let Some((next_position, next, left)) = step(node, rest) else {
                break;
            };
            (node, position) = (next, next_position);
            rest = left.strip_prefix('.').unwrap_or(left);
        }
        position
    }
}

/// One path segment: the position to report, its node and the rest of the path.
fn step<'n, 'p>(node: &'n Node, path: &'p str) -> Option<(Position, &'n Node, &'p str)> {
    let (index, left) = match path.strip_prefix('[') {
        Some(inside) => {
            let close = closing(inside)?;
            (inside[..close].trim_matches('"'), &inside[close + 1..])
        }
        None => match &node.kind {
            Kind::List(_) => path.split_at(path.find(['.', '[']).unwrap_or(path.len())),
            _ => {
                let entry = entry_of(node, path)?;
                return Some((entry.at, &entry.value, &path[entry.key.len()..]));
            }
        },
    };
    match &node.kind {
        Kind::List(items) => {
            let named = |n: &&Node| n.get("name").and_then(Node::as_str) == Some(index);
            let numbered = index.parse::<usize>().ok().and_then(|i| items.get(i));
            let item = numbered.or_else(|| items.iter().find(named))?;
            Some((item.at, item, left))
        }
        _ => {
            let entry = node.entry(index)?;
            Some((entry.at, &entry.value, left))
        }
    }
}

/// The entry whose key is a prefix of the path; keys may contain dots, so the longest one wins.
fn entry_of<'n>(node: &'n Node, path: &str) -> Option<&'n Entry> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    node.entries()
        .iter()
        .filter(|e| path.strip_prefix(e.key.as_str()).is_some_and(ends))
        .max_by_key(|e| e.key.len())
}

fn closing(inside: &str) -> Option<usize> {
    match inside.strip_prefix('"') {
        Some(quoted) => quoted.find("\"]").map(|i| i + 2),
        None => inside.find(']'),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, parse_one};

    #[test]
    fn field_paths_resolve_to_positions() {
        let node = parse_one(
            "metadata:\n  labels:\n    kueue.x-k8s.io/queue-name: q\nspec:\n  groups:\n  - flavors:\n    - name: a\n      quota: -1\n",
            Limits::default(),
        )
        .unwrap();
        for (path, position) in [
            ("spec.groups[0].flavors[0].quota", "8:7"),
            ("spec.groups[0].flavors[0]", "7:7"),
            ("spec.groups", "5:3"),
            ("spec.groups[0].flavors[a].quota", "8:7"),
            ("spec.groups.0", "6:5"),
            ("metadata.labels[kueue.x-k8s.io/queue-name]", "3:5"),
            ("metadata.labels.kueue.x-k8s.io/queue-name", "3:5"),
            (".spec.groups[0].missing.deep", "6:5"),
            ("status", "1:1"),
            ("spec.groups[7]", "5:3"),
            ("", "1:1"),
        ] {
            assert_eq!(node.locate(path).to_string(), position, "{path}");
        }
    }
}
