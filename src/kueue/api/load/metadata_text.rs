//! Finds fields of `metadata` that are numbers or booleans where text is needed, such as the name
//! `y`.

use kueue_lab_yaml::{Kind, Node};

use crate::problem::Problem;

/// The fields of text.
const FIELDS: [&str; 3] = ["name", "namespace", "generateName"];
/// The fields whose values are text.
const MAPS: [&str; 2] = ["labels", "annotations"];

/// The first field of `metadata` that is not text but a number or boolean.
pub(super) fn metadata_problem(object: &Node) -> Option<Problem> {
    let metadata = object.get("metadata")?;
    let fields = FIELDS.iter().filter_map(|field| {
        let value = metadata.get(field)?;
        problem(value, || format!("metadata.{field}"))
    });
    let entries = MAPS.iter().flat_map(|map| {
        let entries = metadata.get(map).map_or(&[][..], Node::entries).iter();
        entries.filter_map(move |entry| {
            problem(&entry.value, || format!("metadata.{map}[{}]", entry.key))
        })
    });
    fields.chain(entries).next()
}

fn problem(value: &Node, path: impl Fn() -> String) -> Option<Problem> {
    if !matches!(value.kind, Kind::Bool(_) | Kind::Number(_)) {
        return None;
    }
    Some(Problem {
        at: value.at,
        path: path(),
        message: format!("expected text, found {}", value.describe()),
        remedy: Some("put it in quotes to make it text".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use kueue_lab_yaml::{Limits, parse_one};

    use super::*;

    #[test]
    fn numbers_and_booleans_are_found() {
        let found = |metadata: &str| {
            let text = format!("kind: Namespace\nmetadata: {metadata}\n");
            let problem = metadata_problem(&parse_one(&text, Limits::default()).unwrap());
            problem.map(|p| format!("{} {}: {}", p.at, p.path, p.message))
        };
        let expected = "2:18 metadata.name: expected text, found the boolean y";
        assert_eq!(found("{name: y}").as_deref(), Some(expected));
        let expected = "2:33 metadata.labels[a]: expected text, found the number 1";
        assert_eq!(
            found("{name: a, labels: {a: 1}}").as_deref(),
            Some(expected)
        );
        assert_eq!(
            found("{name: \"y\", labels: {a: \"1\"}, annotations: null}"),
            None
        );
        assert_eq!(found("~"), None);
    }
}
