//! Descriptions of the API that k8s-openapi does not contain: the parameters of requests and the values of
//! enumerations, written by `scripts/openapi-descriptions.py`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One line for each type: its name and a JSON object of descriptions.
const TEXT: &str = include_str!("descriptions.txt");

/// The descriptions of a type by field or value.
type TypeDescriptions = BTreeMap<String, String>;

/// The description of a field of an options type such as `ListOptions`, or of a value of an enumeration such
/// as `batch.v1.CompletionMode`.
pub(super) fn lookup(type_name: &str, key: &str) -> Option<&'static str> {
    static BY_TYPE: OnceLock<BTreeMap<&str, TypeDescriptions>> = OnceLock::new();
    let by_type = BY_TYPE.get_or_init(|| TEXT.lines().filter_map(parse_line).collect());
    by_type.get(type_name)?.get(key).map(String::as_str)
}

fn parse_line(line: &'static str) -> Option<(&'static str, TypeDescriptions)> {
    let (name, descriptions) = line.split_once(' ')?;
    Some((name, serde_json::from_str(descriptions).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object_of_descriptions() {
        for line in TEXT.lines() {
            assert!(
                parse_line(line).is_some_and(|(_, d)| !d.is_empty()),
                "{line}"
            );
        }
    }
}
