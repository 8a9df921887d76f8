//! From the field paths in Kubernetes' error texts (`spec.flavors[0].name`,
//! `metadata.labels[kueue.x-k8s.io/queue-name]`) back to places in the file.

use super::{Entry, Kind, Node, Position};

impl Node {
    /// Where the field of a path stands: a scalar's own place, else its key's. When the file ends
    /// before the path does, the deepest part that is there.
    pub fn locate(&self, path: &str) -> Position {
        let mut node = self;
        let mut place = self.at;
        let mut rest = path.trim_start_matches(['.', '$']);
        while !rest.is_empty() {
            match step(node, rest) {
                Some((next_place, next, left)) => {
                    place = next_place;
                    node = next;
                    rest = left;
                }
                None => break,
            }
        }
        place
    }

    /// Where the key at the end of a path stands, as for a field that should not be there.
    pub fn locate_key(&self, path: &str) -> Position {
        let mut node = self;
        let mut place = self.at;
        let mut rest = path.trim_start_matches(['.', '$']);
        while !rest.is_empty() {
            let Some((next_place, next, left)) = step(node, rest) else {
                break;
            };
            place = match left.is_empty().then(|| entry_of(node, rest)).flatten() {
                Some(entry) => entry.at,
                None => next_place,
            };
            node = next;
            rest = left;
        }
        place
    }
}

/// One step down: the place to name, the node there and what is left of the path.
fn step<'n, 'p>(node: &'n Node, path: &'p str) -> Option<(Position, &'n Node, &'p str)> {
    if let Some(inside) = path.strip_prefix('[') {
        let close = closing(inside)?;
        let (index, left) = (inside[..close].trim_matches('"'), &inside[close + 1..]);
        let left = left.strip_prefix('.').unwrap_or(left);
        return match &node.kind {
            Kind::List(items) => {
                let item = items.get(index.parse::<usize>().ok()?)?;
                Some((item.at, item, left))
            }
            _ => {
                let entry = node.entry(index)?;
                Some((named(entry), &entry.value, left))
            }
        };
    }
    let entry = entry_of(node, path)?;
    let left = &path[entry.key.len()..];
    let left = left.strip_prefix('.').unwrap_or(left);
    Some((named(entry), &entry.value, left))
}

/// The entry whose key the path begins with; keys may hold dots, so the longest one wins.
fn entry_of<'n>(node: &'n Node, path: &str) -> Option<&'n Entry> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    node.entries()?
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

/// The place that helps most: a scalar's value, otherwise the key.
fn named(entry: &Entry) -> Position {
    match entry.value.kind {
        Kind::List(_) | Kind::Map(_) | Kind::Null => entry.at,
        _ => entry.value.at,
    }
}

#[cfg(test)]
mod tests {
    use crate::yaml::{Limits, parse_one};

    #[test]
    fn paths_of_api_errors_lead_back_to_the_file() {
        let node = parse_one(
            "metadata:\n  labels:\n    kueue.x-k8s.io/queue-name: q\nspec:\n  groups:\n  - flavors:\n    - name: a\n      quota: -1\n",
            Limits::default(),
        )
        .unwrap();
        for (path, place) in [
            ("spec.groups[0].flavors[0].quota", "8:14"),
            ("spec.groups[0].flavors[0]", "7:7"),
            ("spec.groups", "5:3"),
            ("metadata.labels[kueue.x-k8s.io/queue-name]", "3:32"),
            ("metadata.labels.kueue.x-k8s.io/queue-name", "3:32"),
            (".spec.groups[0].missing.deep", "6:5"),
            ("status", "1:1"),
            ("spec.groups[7]", "5:3"),
            ("", "1:1"),
        ] {
            assert_eq!(node.locate(path).to_string(), place, "{path}");
        }
        assert_eq!(
            node.locate_key("spec.groups[0].flavors[0].quota")
                .to_string(),
            "8:7"
        );
    }
}
