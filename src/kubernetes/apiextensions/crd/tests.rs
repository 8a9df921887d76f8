use serde_json::{Value, json};

use super::schema_source::SchemaSource;
use super::*;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_apimachinery::strategy::rest_strategy::Strategy;
use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;

fn schema() -> Value {
    json!({
        "type": "object", "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object", "required": ["color"],
                "x-kubernetes-validations": [{"rule": "!has(self.max) || self.replicas <= self.max",
                    "message": "replicas must not exceed max"}],
                "properties": {
                    "color": {"type": "string", "enum": ["red", "green", "blue"]},
                    "size": {"type": "string", "default": "small", "maxLength": 10, "minLength": 2,
                             "pattern": "^[a-z]+$"},
                    "replicas": {"type": "integer", "default": 1, "minimum": 0, "maximum": 10},
                    "max": {"type": "integer", "format": "int32"},
                    "ratio": {"type": "number", "exclusiveMinimum": true, "minimum": 0, "multipleOf": 0.5},
                    "port": {"x-kubernetes-int-or-string": true},
                    "qty": {"x-kubernetes-int-or-string": true, "pattern": "^[0-9]+Gi$",
                            "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "flag": {"type": "boolean"},
                    "when": {"type": "string", "format": "date-time"},
                    "tags": {"type": "array", "items": {"type": "string"},
                             "x-kubernetes-list-type": "set", "maxItems": 3, "minItems": 1},
                    "parts": {"type": "array", "x-kubernetes-list-type": "map",
                              "x-kubernetes-list-map-keys": ["name"],
                              "items": {"type": "object", "required": ["name"], "properties": {
                                 "name": {"type": "string"}, "num": {"type": "integer", "default": 7}}}},
                    "attrs": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "nul": {"type": "string", "nullable": true},
                    "nonnull": {"type": "string", "default": "dd"},
                    "plain": {"type": "string"},
                    "nested": {"type": "object", "default": {}, "properties": {
                        "a": {"type": "string", "default": "x"}}},
                    "tmpl": {"type": "object", "x-kubernetes-embedded-resource": true,
                             "x-kubernetes-preserve-unknown-fields": true},
                },
            },
            "status": {"type": "object", "properties": {
                "ready": {"type": "boolean"}, "replicas": {"type": "integer"}}},
        },
    })
}

fn resource(version: &str) -> CustomResourceStrategy {
    let preferred = version == "v1";
    let column = |name: &str, kind: &str, path: &str| {
        printer_columns::parse_printer_column(
            &json!({"name": name, "type": kind, "jsonPath": path}),
        )
    };
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let openapi = if preferred { schema() } else { open };
    CustomResourceStrategy::new(CrdVersion {
        group: "x.dev".into(),
        version: version.into(),
        kind: "Widget".into(),
        namespaced: true,
        columns: if preferred {
            vec![
                column("Color", "string", ".spec.color"),
                column("Ready", "boolean", ".status.ready"),
            ]
        } else {
            Vec::new()
        },
        selectable: vec![".spec.color".into()],
        scale: Some(ScalePaths {
            spec_replicas: ".spec.replicas".into(),
            status_replicas: ".status.replicas".into(),
            label_selector: String::new(),
        }),
        schema: SchemaSource::new(move || openapi.clone()),
    })
}

fn widget(spec: Value) -> Value {
    json!({
        "apiVersion": "x.dev/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "1",
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec,
    })
}

fn behaviour() -> CustomResourceStrategy {
    resource("v1")
}

/// The field errors of a create, sorted.
fn created(spec: Value) -> Vec<String> {
    let behaviour = behaviour();
    let mut object = widget(spec);
    decode(
        &behaviour.schema().unwrap(),
        &mut object,
        DecodeSource::Json,
    )
    .unwrap();
    behaviour.set_defaults(&mut object);
    let mut all: Vec<String> = behaviour
        .validate_create(&object)
        .iter()
        .map(ToString::to_string)
        .collect();
    all.sort();
    all
}

const SKIPPED: &str = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

#[test]
fn objects_are_pruned_and_defaulted() {
    let behaviour = behaviour();
    let mut object = widget(json!({
        "color": "green", "nul": null, "nonnull": null, "plain": null, "unknown": 1, "port": "http",
        "parts": [{"name": "a", "x": 1}], "any": {"free": [1, {"y": null}]},
        "tmpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "bogus": 1}, "spec": {"z": 1}},
    }));
    object["metadata"]["strange"] = 1.into();
    let unknown = decode(
        &behaviour.schema().unwrap(),
        &mut object,
        DecodeSource::Json,
    )
    .unwrap();
    assert_eq!(
        unknown,
        [
            "metadata.strange",
            "spec.parts[0].x",
            "spec.tmpl.metadata.bogus",
            "spec.unknown"
        ]
    );
    behaviour.set_defaults(&mut object);
    assert_eq!(
        object["spec"],
        json!({
            "color": "green", "nul": null, "nonnull": "dd", "port": "http", "size": "small",
            "replicas": 1, "parts": [{"name": "a", "num": 7}], "any": {"free": [1, {"y": null}]},
            "nested": {"a": "x"},
            "tmpl": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"z": 1}},
        })
    );
    let mut object = widget(json!({"color": "green"}));
    object["metadata"]["labels"] = json!({"a": 1});
    assert_eq!(
        decode(
            &behaviour.schema().unwrap(),
            &mut object,
            DecodeSource::Json
        )
        .unwrap_err()
        .to_string(),
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    );
}

#[test]
fn messages_are_those_of_the_api_server() {
    assert_eq!(
        created(json!({
            "color": "pink", "size": "UPPER-and-too-long", "replicas": 11, "ratio": 0.7, "qty": "5",
            "flag": "yes", "when": "yesterday", "tags": ["a", "a", "b", "c"],
            "parts": [{"name": "x"}, {"name": "x"}, {"num": 1}], "attrs": {"a": "b", "c": "d", "e": "f"},
            "port": true,
        })),
        [
            SKIPPED,
            "spec.attrs: Too many: 3: must have at most 2 items",
            "spec.color: Unsupported value: \"pink\": supported values: \"red\", \"green\", \"blue\"",
            "spec.flag: Invalid value: \"string\": spec.flag in body must be of type boolean: \"string\"",
            "spec.parts[1]: Duplicate value: {\"name\":\"x\"}",
            "spec.parts[2].name: Required value",
            "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
            "spec.qty: Invalid value: \"5\": spec.qty in body should match '^[0-9]+Gi$'",
            "spec.ratio: Invalid value: 0.7: spec.ratio in body should be a multiple of 0.5",
            "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10",
            "spec.size: Too long: may not be more than 10 bytes",
            "spec.tags: Too many: 4: must have at most 3 items",
            "spec.tags[1]: Duplicate value: \"a\"",
            "spec.when: Invalid value: \"yesterday\": spec.when in body must be of type date-time: \"yesterday\"",
        ]
    );
    assert_eq!(
        created(
            json!({"color": 5, "replicas": "2", "tags": "x", "nested": [], "any": 3, "ratio": 0, "max": 1.5})
        ),
        [
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 2 is of the type string, expected int64",
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.max",
            SKIPPED,
            "spec.any: Invalid value: \"integer\": spec.any in body must be of type object: \"integer\"",
            "spec.color: Invalid value: \"integer\": spec.color in body must be of type string: \"integer\"",
            "spec.color: Unsupported value: 5: supported values: \"red\", \"green\", \"blue\"",
            "spec.max: Invalid value: \"float64\": spec.max in body must be of type int32: \"float64\"",
            "spec.nested: Invalid value: \"array\": spec.nested in body must be of type object: \"array\"",
            "spec.ratio: Invalid value: 0: factor MultipleOf declared for spec.ratio must be positive: 0",
            "spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0",
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
            "spec.tags: Invalid value: \"string\": spec.tags in body must be of type array: \"string\"",
        ]
    );
    assert_eq!(
        created(json!({"color": "red", "tmpl": {"foo": 1}})),
        [
            SKIPPED,
            "spec.tmpl.apiVersion: Required value",
            "spec.tmpl.kind: Required value"
        ]
    );
    assert_eq!(
        created(json!("hello")),
        [
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: hello is of the type string, expected map[string]interface{}",
            SKIPPED,
            "spec: Invalid value: \"string\": spec in body must be of type object: \"string\"",
        ]
    );
    assert_eq!(
        created(json!({"color": "red", "max": 0})),
        ["spec: Invalid value: replicas must not exceed max"]
    );
    assert_eq!(
        created(json!({"color": "red", "ratio": 1.5, "qty": "5Gi", "port": 80})),
        [""; 0]
    );
}

#[test]
fn unchanged_invalid_fields_are_ratcheted() {
    let behaviour = behaviour();
    let old = widget(json!({"color": "pink", "replicas": 1}));
    let mut new = old.clone();
    new["spec"]["replicas"] = 2.into();
    assert_eq!(behaviour.validate_update(&new, &old), []);
    new["spec"]["color"] = "mauve".into();
    assert_eq!(behaviour.validate_update(&new, &old).len(), 2);
}

#[test]
fn status_writes_change_status_only() {
    let behaviour = behaviour();
    let mut old = widget(json!({"color": "red"}));
    old["metadata"]["labels"] = json!({"a": "b"});
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"c": "d"});
    new["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Update"}]);
    new["status"] = json!({"ready": "x"});
    behaviour.prepare_for_subresource_update("status", &mut new, &old);
    assert_eq!(new["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(
        new["metadata"]["managedFields"],
        json!([{"manager": "m", "operation": "Update"}])
    );
    let errors: Vec<String> = behaviour
        .validate_subresource_update("status", &new, &old)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        errors,
        [
            "status.ready: Invalid value: \"string\": ready in body must be of type boolean: \"string\"",
            SKIPPED
        ]
    );
}

#[test]
fn columns_and_selectors_follow_the_definition() {
    let behaviour = behaviour();
    let mut object = widget(json!({"color": "red"}));
    object["status"] = json!({"ready": true});
    let names: Vec<String> = behaviour
        .table_columns()
        .into_iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(names, ["Name", "Color", "Ready"]);
    let cells = behaviour.table_cells(&object, jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(cells, [json!("w"), json!("red"), json!(true)]);
    assert_eq!(
        behaviour.selectable_field_value(&object, "spec.color"),
        "red"
    );
    assert_eq!(
        behaviour
            .check_selectable_field("spec.replicas")
            .unwrap_err()
            .to_string(),
        "field label not supported: spec.replicas"
    );
    let alpha = resource("v1alpha1");
    let names: Vec<String> = alpha.table_columns().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["Name", "Age"]);
}
