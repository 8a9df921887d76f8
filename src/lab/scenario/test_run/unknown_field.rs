//! Finds the position of a field that the API does not know.

use std::path::Path;

use kueue_lab_yaml::{Entry, Kind, Limits, Node, Position, documents, parse_one};

/// The position of an unknown field in a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldPosition {
    /// In the test file.
    Here(Position),
    /// In a file that the step names, as the user names it.
    In(String, Position),
}

/// The end of the error of an applied object with an unknown field.
const NOT_DECLARED: &str = ": field not declared in schema";

/// The position of the field that an error of a step names: `unknown field "spec.suspendd"`, or
/// `.spec.suspendd: field not declared in schema`.
pub(super) fn unknown_field(
    error: &str,
    file: &str,
    text: &str,
    step_at: Position,
) -> Option<FieldPosition> {
    let quoted = error.split_once("unknown field \"");
    let path = match quoted.and_then(|(_, rest)| rest.split_once('"')) {
        Some((path, _)) => path,
        None => {
            let (before, _) = error.split_once(NOT_DECLARED)?;
            before.rsplit_once(": .")?.1
        }
    };
    let document = parse_one(text, Limits::default()).ok()?;
    let step = step_of(&document, step_at)?;
    let merge = step.get("patch").and_then(|patch| patch.get("merge"));
    if let Some(at) = merge.and_then(|merge| position(merge, path)) {
        return Some(FieldPosition::Here(at));
    }
    let objects = ["apply", "create"].iter().find_map(|key| step.get(key))?;
    if let Some(name) = objects.as_str() {
        let file = Path::new(file).parent()?.join(name);
        let text = kueue_lab_host::read_to_string(&file, kueue_lab_host::FILE_LIMIT).ok()?;
        let objects = documents(&text, Limits::default()).ok()?;
        let at = objects.iter().find_map(|object| position(object, path))?;
        return Some(FieldPosition::In(file.display().to_string(), at));
    }
    let mut all = std::iter::once(objects).chain(objects.items());
    all.find_map(|object| position(object, path))
        .map(FieldPosition::Here)
}

/// The step at a position of a test file.
fn step_of(document: &Node, at: Position) -> Option<&Node> {
    let cases = document.get("cases").map_or(&[][..], Node::items).iter();
    let mut steps = cases
        .filter_map(|case| case.get("steps"))
        .flat_map(Node::items);
    steps.find(|step| step.at == at && matches!(step.kind, Kind::Map(_)))
}

/// The position of the last key of a path such as `spec.containers[0].name`.
fn position(object: &Node, path: &str) -> Option<Position> {
    let mut value = object;
    let mut at = None;
    for part in path.split('.') {
        let (key, indexes) = part.split_once('[').unwrap_or((part, ""));
        let entry: &Entry = value.entry(key)?;
        (value, at) = (&entry.value, Some(entry.at));
        for index in indexes.split('[').filter(|index| !index.is_empty()) {
            value = item(value, index.trim_end_matches(']'))?;
        }
    }
    at
}

/// The item of a list with an index or a key: `0`, `name="main"`.
fn item<'n>(list: &'n Node, index: &str) -> Option<&'n Node> {
    if let Some((key, name)) = index.split_once('=') {
        let name = Some(name.trim_matches('"'));
        let mut items = list.items().iter();
        return items.find(|item| item.get(key).and_then(Node::as_str) == name);
    }
    list.items().get(index.parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_inline_objects_and_patches_are_found() {
        let text = "cases:\n- steps:\n  - wait: 1s\n  - create:\n    - kind: A\n    - spec:\n        containers:\n        - name: a\n          imag: b\n  - patch: {merge: {spec: {suspendd: true}}}\n";
        let found = |error: &str, line| {
            unknown_field(error, "x.test.yaml", text, Position { line, column: 5 })
        };
        let position = |line, column| Some(FieldPosition::Here(Position { line, column }));
        assert_eq!(
            found("strict: unknown field \"spec.containers[0].imag\"", 4),
            position(9, 11)
        );
        assert_eq!(
            found("unknown field \"spec.suspendd\"", 10),
            position(10, 28)
        );
        let of_apply = "no typed patch object (a; v1): .spec.containers[name=\"a\"].imag: field not declared in schema";
        assert_eq!(found(of_apply, 4), position(9, 11));
        assert_eq!(found("unknown field \"spec.other\"", 10), None);
        assert_eq!(found("another error", 10), None);
    }
}
