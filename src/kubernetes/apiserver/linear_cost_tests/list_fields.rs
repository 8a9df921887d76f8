//! The list fields of the schema of a kind, and objects in which one of them is long.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

/// The definitions that the schemas of a kind refer to, by name.
pub(super) struct Schemas(pub(super) BTreeMap<&'static str, Value>);

/// A list field: the fields to it, and whether each is a list.
pub(super) type Path = Vec<(String, bool)>;

impl Schemas {
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let reference = schema["$ref"].as_str();
        let reference = reference.or_else(|| schema["allOf"][0]["$ref"].as_str());
        let name = reference.and_then(|r| r.rsplit('/').next());
        name.and_then(|name| self.0.get(name)).unwrap_or(schema)
    }

    /// The list fields below a schema that `seen` does not have, those of the status included.
    pub(super) fn lists(
        &self,
        schema: &Value,
        path: &Path,
        seen: &mut HashSet<String>,
        out: &mut Vec<Path>,
    ) {
        let schema = self.resolve(schema);
        let Some(fields) = schema["properties"].as_object() else {
            return;
        };
        if !seen.insert(schema.to_string()) {
            return;
        }
        for (name, field) in fields {
            let is_list = field["type"] == "array";
            let mut path = path.clone();
            path.push((name.clone(), is_list));
            if is_list {
                out.push(path.clone());
            }
            let below = if is_list { &field["items"] } else { field };
            self.lists(below, &path, seen, out);
        }
    }

    /// A value of a schema; `index` makes its texts and numbers unique.
    pub(super) fn sample(
        &self,
        schema: &Value,
        index: usize,
        with_optional: bool,
        depth: usize,
    ) -> Value {
        let schema = self.resolve(schema);
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("string"), Some("date-time")) => json!("2026-01-01T00:00:00Z"),
            (Some("string"), Some("byte")) => json!("YQ=="),
            (Some("string"), _) => json!(format!("a{index}")),
            (Some("integer" | "number"), _) => json!(index + 1),
            (Some("boolean"), _) => json!(false),
            (Some("array"), _) => json!([self.sample(&schema["items"], index, false, depth + 1)]),
            (Some("object"), _) if depth < 6 => {
                let required = schema["required"].as_array();
                let is_required =
                    |name: &str| required.is_some_and(|all| all.contains(&json!(name)));
                let is_scalar = |field: &Value| {
                    let kind = self.resolve(field)["type"].as_str();
                    with_optional && !matches!(kind, None | Some("array" | "object"))
                };
                let fields = schema["properties"].as_object().into_iter().flatten();
                let fields = fields.filter(|(name, field)| is_required(name) || is_scalar(field));
                fields
                    .map(|(name, field)| {
                        (name.clone(), self.sample(field, index, false, depth + 1))
                    })
                    .collect::<Map<_, _>>()
                    .into()
            }
            (Some("object"), _) => json!({}),
            _ => json!(format!("{index}")),
        }
    }

    /// Makes the list at `path` of an object one with `size` items; lists and objects above it are added.
    pub(super) fn grow(
        &self,
        schema: &Value,
        object: &mut Value,
        path: &[(String, bool)],
        size: usize,
    ) {
        let schema = self.resolve(schema);
        let [(name, is_list), rest @ ..] = path else {
            return;
        };
        let field = &schema["properties"][name];
        let value = &mut object[name];
        match (is_list, rest.is_empty()) {
            (true, true) => {
                let items = (0..size).map(|i| self.sample(&field["items"], i, true, 0));
                *value = items.collect::<Vec<_>>().into();
            }
            (true, false) => {
                if value.get(0).is_none() {
                    *value = json!([self.sample(&field["items"], 0, false, 0)]);
                }
                self.grow(&field["items"], &mut value[0], rest, size);
            }
            (false, _) => {
                if !value.is_object() {
                    *value = self.sample(field, 0, false, 0);
                }
                self.grow(field, value, rest, size);
            }
        }
    }
}
