//! OpenAPI definitions of the built-in types: descriptions from k8s-openapi, types and extensions
//! from the schema tables.
//!
//! The schemas of k8s-openapi are data in `definitions.txt`, because its code for them is large.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::openapi_v3::REF;
use super::property::property;
use kueue_lab_apimachinery::schema::{self, ValueType};

/// One line for each group version, `<group>/<version> <root types>`, and one for each type,
/// `<name> <schema>`.
pub(super) const TEXT: &str = include_str!("definitions.txt");

/// [`TEXT`] by the first word of each line.
fn lines() -> &'static BTreeMap<&'static str, &'static str> {
    static LINES: OnceLock<BTreeMap<&str, &str>> = OnceLock::new();
    LINES.get_or_init(|| TEXT.lines().filter_map(|l| l.split_once(' ')).collect())
}

/// Whether a group version is built in and has definitions.
pub(super) fn has_definitions(group: &str, version: &str) -> bool {
    lines().contains_key(format!("{group}/{version}").as_str())
}

/// Returns the definitions of a group version with all types they reference; empty for the groups
/// of custom resources.
pub(super) fn definitions(group: &str, version: &str) -> Map<String, Value> {
    let roots = lines().get(format!("{group}/{version}").as_str());
    let Some(roots) = roots else {
        return Map::new();
    };
    let mut definitions = Map::new();
    let mut queue: Vec<&str> = roots.split(' ').collect();
    while let Some(name) = queue.pop() {
        let Some(text) = lines()
            .get(name)
            .filter(|_| !definitions.contains_key(name))
        else {
            continue;
        };
        queue.extend(referenced(text));
        // A test generates the text from JSON values.
        let raw: Value = serde_json::from_str(text).unwrap_or_default();
        definitions.insert(name.to_owned(), definition(name, &raw));
    }
    definitions.insert(
        "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent".into(),
        watch_event(),
    );
    kinds(&mut definitions, group, version);
    definitions
}

/// The names of the definitions that a schema references.
fn referenced(schema: &'static str) -> impl Iterator<Item = &'static str> {
    let references = schema.split(REF).skip(1);
    references.filter_map(|rest| rest.split('"').next())
}

/// Definition of WatchEvent; in k8s-openapi it is generic over the object type.
fn watch_event() -> Value {
    json!({
        "description": "One event of a watch: what happened, and the object it happened to.",
        "type": "object",
        "required": ["type", "object"],
        "properties": {
            "type": {"type": "string", "default": ""},
            "object": {"allOf": [{"$ref": format!("{}{RAW}", super::openapi_v3::REF)}]},
        },
    })
}

const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Schema table name of a definition: `core.v1.Pod` for `io.k8s.api.core.v1.Pod`.
fn table_name(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(4, '.').collect();
    match parts.as_slice() {
        [kind, version, package, _] => format!("{package}.{version}.{kind}"),
        _ => name.into(),
    }
}

/// Converts a definition of k8s-openapi to the form that the API server publishes.
fn definition(name: &str, raw: &Value) -> Value {
    let mut out = Map::new();
    if let Some(description) = raw.get("description") {
        out.insert("description".into(), description.clone());
    }
    match name.rsplit('.').next().unwrap_or_default() {
        "Quantity" => out.insert(
            "oneOf".into(),
            json!([{"type": "string"}, {"type": "number"}]),
        ),
        "IntOrString" => {
            out.insert("format".into(), "int-or-string".into());
            out.insert(
                "oneOf".into(),
                json!([{"type": "integer"}, {"type": "string"}]),
            )
        }
        _ => None,
    };
    if out.contains_key("oneOf") {
        return Value::Object(out);
    }
    let table = schema::find_named_type(&table_name(name));
    let value_type = table.as_deref().and_then(|s| match &s.value_type {
        ValueType::Struct(value_type) => Some(value_type),
        _ => None,
    });
    let (Some(value_type), Some(Value::Object(properties))) = (value_type, raw.get("properties"))
    else {
        return raw.clone();
    };
    let mut shown = Map::new();
    for (name, raw) in properties {
        let value = match value_type.field(name) {
            Some(field) => property(field, raw),
            None => raw.clone(),
        };
        shown.insert(name.clone(), value);
    }
    out.insert("properties".into(), shown.into());
    // k8s-openapi marks `metadata` as required; the published API does not.
    let required = raw.get("required").and_then(Value::as_array);
    let required: Vec<_> = required.into_iter().flatten().cloned().collect();
    let published: Vec<Value> = required.into_iter().filter(|r| r != "metadata").collect();
    if !published.is_empty() {
        out.insert("required".into(), published.into());
    }
    out.insert("type".into(), "object".into());
    if value_type.atomic == Some(true) {
        out.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    Value::Object(out)
}

/// Adds `x-kubernetes-group-version-kind` to the definitions of kinds, and adds their list
/// definitions.
fn kinds(definitions: &mut Map<String, Value>, group: &str, version: &str) {
    for kind in kueue_lab_kinds::builtin_api_resources() {
        if &*kind.group != group || &*kind.version != version {
            continue;
        }
        let name = super::openapi_v3::definition_name(&kind, &kind.kind);
        let gvk = |kind: &str| json!([{"group": group, "kind": kind, "version": version}]);
        let Some(definition) = definitions.get_mut(&name) else {
            continue;
        };
        definition["x-kubernetes-group-version-kind"] = gvk(&kind.kind);
        if kind.verbs.contains(&"list") {
            let list = super::openapi_v3::definition_name(&kind, &kind.list_kind);
            let mut definition = list_of(&name, &kind.list_kind, &kind.plural);
            definition["x-kubernetes-group-version-kind"] = gvk(&kind.list_kind);
            definitions.insert(list, definition);
        }
    }
}

/// Returns the definition of the list type of a kind.
pub(super) fn list_of(item: &str, kind: &str, plural: &str) -> Value {
    json!({
        "description": format!("{kind} is a list of {plural}."),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": super::custom::api_version(),
            "kind": super::custom::kind(),
            "metadata": {
                "allOf": [{"$ref": format!("{}{}", super::openapi_v3::REF, super::custom::LIST_META)}],
                "default": {},
                "description": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
            },
            "items": {
                "type": "array",
                "description": format!("The {plural}."),
                "items": {"allOf": [{"$ref": format!("{}{item}", super::openapi_v3::REF)}], "default": {}},
            },
        },
    })
}
