//! [`DescriptionTable`]: descriptions of the API as data.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The descriptions of a type by field, value or column.
type TypeDescriptions = BTreeMap<String, String>;

/// Descriptions by type and field, value or column. They are decoded on first use.
pub struct DescriptionTable {
    /// One line for each type: its name and a JSON object of descriptions.
    text: &'static str,
    by_type: OnceLock<BTreeMap<&'static str, TypeDescriptions>>,
}

impl DescriptionTable {
    /// A table of lines, each the name of a type and a JSON object.
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            by_type: OnceLock::new(),
        }
    }

    /// The description of a key of a type.
    pub fn lookup(&self, type_name: &str, key: &str) -> Option<&str> {
        let lines = || self.text.lines().filter_map(parse_line).collect();
        let by_type = self.by_type.get_or_init(lines);
        by_type.get(type_name)?.get(key).map(String::as_str)
    }

    /// The lines that cannot be decoded or have no descriptions.
    pub fn invalid_lines(&self) -> Vec<&'static str> {
        let valid = |line: &&str| parse_line(line).is_some_and(|(_, d)| !d.is_empty());
        self.text.lines().filter(|line| !valid(line)).collect()
    }
}

fn parse_line(line: &str) -> Option<(&str, TypeDescriptions)> {
    let (name, descriptions) = line.split_once(' ')?;
    Some((name, serde_json::from_str(descriptions).ok()?))
}
