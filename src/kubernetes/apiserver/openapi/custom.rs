//! OpenAPI definitions of custom resources, from the schemas of their CustomResourceDefinitions.

use serde_json::{Map, Value, json};

use super::openapi_v3::REF;
use kueue_lab_apimachinery::strategy::api_resource::ApiResource;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// OpenAPI-relevant fields of a CustomResourceDefinition version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CustomSchema {
    /// `openAPIV3Schema` unmodified; null if unset.
    pub schema: Value,
    /// `selectableFields` unmodified.
    pub selectable_fields: Vec<Value>,
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

pub(super) fn api_version() -> Value {
    json!({
        "description": "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
        "type": "string",
    })
}

pub(super) fn kind() -> Value {
    json!({
        "description": "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
        "type": "string",
    })
}

fn metadata() -> Value {
    json!({
        "allOf": [{"$ref": format!("{REF}{OBJECT_META}")}],
        "description": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
    })
}

/// Adds the definitions of a kind and its list type.
pub(super) fn add(schemas: &mut Map<String, Value>, served: &ApiResource, custom: &CustomSchema) {
    let (group, version) = (&*served.group, &*served.version);
    let name = super::openapi_v3::definition_name(served, &served.kind);
    let gvk = |kind: &str| json!([{"group": group, "kind": kind, "version": version}]);
    let mut schema = match &custom.schema {
        Value::Object(_) => custom.schema.clone(),
        _ => json!({"type": "object"}),
    };
    embedded_objects(&mut schema);
    let free = schema.flag("/x-kubernetes-preserve-unknown-fields")
        && schema.entries("/properties").next().is_none();
    if !free {
        object_fields(&mut schema);
    }
    schema["x-kubernetes-group-version-kind"] = gvk(&served.kind);
    if !custom.selectable_fields.is_empty() {
        let field = |f: &Value| json!({"fieldPath": f.text("/jsonPath").trim_start_matches('.')});
        let fields: Vec<Value> = custom.selectable_fields.iter().map(field).collect();
        schema["x-kubernetes-selectable-fields"] = fields.into();
    }
    let mut list = super::builtin::list_of(&name, &served.list_kind, &served.plural);
    list["properties"]["items"]["items"] = json!({"$ref": format!("{REF}{name}")});
    list["properties"]["items"]["description"] =
        format!("List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md", served.plural).into();
    list["description"] = format!("{} is a list of {}", served.list_kind, served.kind).into();
    list["x-kubernetes-group-version-kind"] = gvk(&served.list_kind);
    schemas.insert(
        super::openapi_v3::definition_name(served, &served.list_kind),
        list,
    );
    schemas.insert(name, schema);
}

/// Sets `apiVersion`, `kind` and `metadata`, overriding those of the schema.
fn object_fields(schema: &mut Value) {
    let properties = schema.object_mut("properties");
    properties.set_or_remove("apiVersion", Some(api_version()));
    properties.set_or_remove("kind", Some(kind()));
    properties.set_or_remove("metadata", Some(metadata()));
}

/// Sets the same fields in embedded resources (`x-kubernetes-embedded-resource`).
fn embedded_objects(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for key in ["properties", "items", "additionalProperties"] {
                match (key, map.get_mut(key)) {
                    ("properties", Some(Value::Object(properties))) => {
                        properties.values_mut().for_each(embedded_part);
                    }
                    (_, Some(part)) => embedded_part(part),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(embedded_part),
        _ => {}
    }
}

fn embedded_part(schema: &mut Value) {
    embedded_objects(schema);
    if !schema.flag("/x-kubernetes-embedded-resource") {
        return;
    }
    object_fields(schema);
    let mut required = schema.list("/required").to_vec();
    for field in ["kind", "apiVersion"] {
        if !required.iter().any(|r| r == field) {
            required.push(field.into());
        }
    }
    schema.set_or_remove("required", Some(required.into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_resource() {
        let mut widget = kueue_lab_kinds::builtin_api_resources()
            .into_iter()
            .next()
            .expect("a kind");
        widget.group = "g.example.dev".into();
        widget.version = "v1".into();
        widget.kind = "Widget".into();
        widget.list_kind = "WidgetList".into();
        let custom = CustomSchema {
            schema: json!({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "properties": {
                "tmpl": {"type": "object", "x-kubernetes-embedded-resource": true}}}}}),
            selectable_fields: vec![json!({"jsonPath": ".spec.color"})],
        };
        let mut schemas = Map::new();
        add(&mut schemas, &widget, &custom);
        let schema = &schemas["dev.example.g.v1.Widget"];
        assert_eq!(schema["required"], json!(["spec"]));
        assert_eq!(
            schema["properties"]["spec"]["properties"]["tmpl"]["required"],
            json!(["kind", "apiVersion"])
        );
        assert_eq!(
            schema["x-kubernetes-selectable-fields"],
            json!([{"fieldPath": "spec.color"}])
        );
        assert_eq!(
            schema["properties"]["metadata"]["allOf"][0]["$ref"],
            format!("{REF}{OBJECT_META}")
        );
        assert!(schemas.contains_key("dev.example.g.v1.WidgetList"));
    }
}
