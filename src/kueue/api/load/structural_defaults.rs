//! Structural defaulting without an API server.

use serde_json::Value;

use crate::crds::{self, Schema};

/// Applies the schema's defaults and drops nulls, as an API server does before validation. Objects
/// of other kinds are unchanged.
pub fn structural_defaults(object: &mut Value) {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some((group, version)) = api_version.split_once('/') else {
        return;
    };
    if let Some(schema) = crds::by_kind(group, &kind).and_then(|c| c.schema(version)) {
        apply(object, schema);
    }
}

fn apply(value: &mut Value, schema: Schema) {
    match value {
        Value::Object(members) => {
            if let Some(values) = schema.additional_properties() {
                members.values_mut().for_each(|v| apply(v, values));
                return;
            }
            for name in schema.properties() {
                let Some(of_member) = schema.property(name) else {
                    continue;
                };
                if members.get(name).is_some_and(Value::is_null) {
                    members.remove(name);
                }
                if let (None, Some(default)) = (members.get(name), of_member.keyword("default")) {
                    members.insert(name.to_owned(), default.clone());
                }
                if let Some(member) = members.get_mut(name) {
                    apply(member, of_member);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                items.iter_mut().for_each(|item| apply(item, schema));
            }
        }
        _ => {}
    }
}
