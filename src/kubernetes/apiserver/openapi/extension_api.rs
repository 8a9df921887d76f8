//! OpenAPI v2 documents of extension API servers, and their merge,
//! `kube-aggregator/pkg/controllers/openapi` and kube-openapi's `aggregator`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sha2::Digest;

const DEFINITIONS: &str = "#/definitions/";

/// The paths of one group version and the definitions that they use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExtensionOpenApi {
    paths: Map<String, Value>,
    definitions: Map<String, Value>,
    /// The hash of paths and definitions.
    pub(super) hash: String,
}

impl ExtensionOpenApi {
    /// The part of a server's document for a group version; `None` if it has no path of it.
    pub(crate) fn of(document: &Value, group_version: &str) -> Option<Self> {
        let prefix = format!("/apis/{group_version}/");
        let is_own = |path: &str| path.starts_with(&prefix) || path == prefix.trim_end_matches('/');
        let paths = document.get("paths")?.as_object()?.iter();
        let paths: Map<String, Value> = paths
            .filter(|(path, _)| is_own(path))
            .map(|(path, item)| (path.clone(), item.clone()))
            .collect();
        if paths.is_empty() {
            return None;
        }
        let all = document.get("definitions").and_then(Value::as_object);
        let mut definitions = Map::new();
        let mut pending: Vec<String> = Vec::new();
        paths
            .values()
            .for_each(|item| references(item, &mut pending));
        while let Some(name) = pending.pop() {
            if let Some(definition) = all.and_then(|all| all.get(&name))
                && !definitions.contains_key(&name)
            {
                references(definition, &mut pending);
                definitions.insert(name, definition.clone());
            }
        }
        let content = json!([paths, definitions]).to_string();
        let hash = sha2::Sha256::digest(content);
        Some(Self {
            hash: hash.iter().map(|b| format!("{b:02X}")).collect(),
            paths,
            definitions,
        })
    }

    /// Adds paths and definitions to a document. Paths that are there already stay; a definition
    /// that differs from one of the same name is renamed to `NAME_v2`, and so on.
    pub(super) fn merge_into(&self, whole: &mut Value) {
        let mut renamed: BTreeMap<&str, String> = BTreeMap::new();
        let taken: BTreeSet<String> = match &whole["definitions"] {
            Value::Object(present) => self
                .definitions
                .iter()
                .filter(|(name, definition)| {
                    present.get(*name).is_some_and(|known| known != *definition)
                })
                .map(|(name, _)| name.clone())
                .collect(),
            _ => BTreeSet::new(),
        };
        for name in self.definitions.keys().filter(|name| taken.contains(*name)) {
            let mut candidates = (2..).map(|n| format!("{name}_v{n}"));
            let free = candidates.find(|candidate| {
                whole["definitions"].get(candidate).is_none()
                    && !self.definitions.contains_key(candidate)
            });
            renamed.extend(free.map(|free| (name.as_str(), free)));
        }
        for (name, definition) in &self.definitions {
            let name = renamed.get(name.as_str()).unwrap_or(name);
            whole["definitions"][name] = with_references(definition, &renamed);
        }
        for (path, item) in &self.paths {
            if whole["paths"].get(path).is_none() {
                whole["paths"][path] = with_references(item, &renamed);
            }
        }
    }
}

/// Adds the names of the definitions that a value refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value
                    .as_str()
                    .and_then(|text| text.strip_prefix(DEFINITIONS))
                {
                    Some(name) if key == "$ref" => found.push(name.into()),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// A value with the new names of definitions.
fn with_references(value: &Value, renamed: &BTreeMap<&str, String>) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let name = value
                    .as_str()
                    .and_then(|text| text.strip_prefix(DEFINITIONS));
                let new = name.and_then(|name| renamed.get(name));
                let value = match new.filter(|_| key == "$ref") {
                    Some(new) => format!("{DEFINITIONS}{new}").into(),
                    None => with_references(value, renamed),
                };
                (key.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| with_references(item, renamed))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        let reference = |name: &str| json!({"$ref": format!("{DEFINITIONS}{name}")});
        json!({
            "swagger": "2.0",
            "paths": {
                "/apis/a.dev/v1/": {"get": {"schema": reference("List")}},
                "/apis/a.dev/v1/things": {"get": {"schema": reference("Thing")}},
                "/apis/a.dev/v2/things": {"get": {"schema": reference("Unused")}},
                "/healthz": {},
            },
            "definitions": {
                "List": {"type": "object"},
                "Meta": {"description": "of another version"},
                "Thing": {"properties": {"metadata": reference("Meta"), "$ref": {"type": "string"}}},
                "Unused": {},
            },
        })
    }

    #[test]
    fn only_the_group_version_and_what_it_uses_is_merged() {
        let part = ExtensionOpenApi::of(&document(), "a.dev/v1").unwrap();
        let mut whole = json!({
            "paths": {"/apis/a.dev/v1/": "local"},
            "definitions": {"List": {"type": "object"}, "Meta": {"description": "ours"}, "Meta_v2": {}},
        });
        part.merge_into(&mut whole);
        let reference = |name: &str| json!({"$ref": format!("{DEFINITIONS}{name}")});
        assert_eq!(
            whole,
            json!({
                "paths": {
                    "/apis/a.dev/v1/": "local",
                    "/apis/a.dev/v1/things": {"get": {"schema": reference("Thing")}},
                },
                "definitions": {
                    "List": {"type": "object"},
                    "Meta": {"description": "ours"},
                    "Meta_v2": {},
                    "Meta_v3": {"description": "of another version"},
                    "Thing": {"properties":
                        {"metadata": reference("Meta_v3"), "$ref": {"type": "string"}}},
                },
            })
        );
        assert_eq!(ExtensionOpenApi::of(&document(), "b.dev/v1"), None);
        assert_eq!(
            ExtensionOpenApi::of(&json!("no document"), "a.dev/v1"),
            None
        );
    }
}
