use std::collections::BTreeSet;

use serde_json::Value;

use super::find_named_type;

use crate::schema::{AnyType, ListType, Name, Schema, ValueType};

/// The schemas of k8s-openapi, in lines of name and schema; other lines are not JSON.
const DEFINITIONS: &str = include_str!("../../../apiserver/openapi/definitions.txt");

/// Types that need no table.
const UNLISTED: &[&str] = &["meta.v1.APIResourceList", "meta.v1.APIResource"];

/// The table name of an OpenAPI definition.
fn id(definition: &str) -> Option<String> {
    let mut parts: Vec<&str> = definition.split('.').collect();
    let name = parts.pop()?;
    let version = parts.pop()?;
    Some(format!("{}.{version}.{name}", parts.pop()?))
}

fn shape_word(schema: &Schema) -> &'static str {
    match &schema.value_type {
        ValueType::Bool => "boolean",
        ValueType::Int(_) => "integer",
        ValueType::Float => "number",
        ValueType::String { .. } | ValueType::Bytes | ValueType::Time | ValueType::MicroTime => {
            "string"
        }
        ValueType::List(_) => "array",
        ValueType::Map(_) | ValueType::Struct(_) => "object",
        _ => "",
    }
}

#[test]
fn tables_agree_with_k8s_openapi() {
    let mut seen = 0;
    for line in DEFINITIONS.lines() {
        let (name, text) = line.split_once(' ').unwrap();
        let definition: Value = serde_json::from_str(text).unwrap_or_default();
        let Some(properties) = definition.get("properties").and_then(Value::as_object) else {
            continue;
        };
        let id = id(name).unwrap();
        let Some(schema) = find_named_type(&id) else {
            // Types of requests and responses, which no object contains.
            assert!(UNLISTED.contains(&id.as_str()), "{name} is in no table");
            continue;
        };
        let ValueType::Struct(value_type) = &schema.value_type else {
            panic!("{name} is no struct")
        };
        let ours: BTreeSet<&str> = value_type.fields.iter().map(|f| &*f.name).collect();
        let theirs: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        // Some generated types have kind and apiVersion in a trait instead of fields.
        let only: Vec<_> = ours
            .symmetric_difference(&theirs)
            .filter(|f| !matches!(**f, "kind" | "apiVersion"))
            .collect();
        assert!(only.is_empty(), "{name}: {only:?}");
        for (field, property) in properties {
            let (Some(field), Some(word)) = (
                value_type.field(field),
                property.get("type").and_then(Value::as_str),
            ) else {
                continue;
            };
            let ours = shape_word(&field.schema);
            assert!(
                ours.is_empty() || ours == word,
                "{name}.{}: {ours} {word}",
                field.name
            );
        }
        seen += 1;
    }
    assert!(seen > 450, "{seen}");
}

#[test]
fn facts_of_the_go_types_are_kept() {
    let pod = find_named_type("core.v1.PodSpec").unwrap();
    let ValueType::Struct(pod) = &pod.value_type else {
        panic!()
    };
    let containers = pod.field("containers").unwrap();
    let ValueType::List(list) = &containers.schema.value_type else {
        panic!()
    };
    assert_eq!(list.list_type, ListType::Map(vec![Name::Borrowed("name")]));
    assert_eq!(containers.patch.key, Some("name"));
    assert!(pod.field("volumes").unwrap().patch.retain_keys);
    let ValueType::Map(selector) = &pod.field("nodeSelector").unwrap().schema.value_type else {
        panic!()
    };
    assert_eq!(selector.atomic, Some(true));
    let protocol = list.item.child("ports").unwrap().item().unwrap();
    let ValueType::Struct(port) = &protocol.value_type else {
        panic!()
    };
    assert_eq!(port.field("protocol").unwrap().default, Some("TCP".into()));
    assert_eq!(port.field("containerPort").unwrap().default, Some(0.into()));
    assert_eq!(protocol.child("protocol").unwrap().go_name(), "v1.Protocol");
}

#[test]
fn fields_of_custom_kinds_have_types() {
    let mut seen = 0;
    for (package, group, version) in super::CUSTOM_PACKAGES {
        assert!(
            super::CUSTOM_TABLES
                .iter()
                .any(|(table, _)| table == package)
        );
        assert!(super::builtin_schema(group, version, "JobSet").is_none());
        let types = &super::INDEX[*package];
        for entry in types.values() {
            let ValueType::Struct(value_type) = &entry.schema().value_type else {
                continue;
            };
            for field in value_type.fields.iter() {
                let mut schema: &Schema = &field.schema;
                while let Some(item) = match &schema.value_type {
                    ValueType::List(list) => Some(&list.item),
                    ValueType::Map(map) => Some(&map.value),
                    _ => None,
                } {
                    schema = item;
                }
                let is_unknown = matches!(schema.value_type, ValueType::Any(AnyType::Granular));
                assert!(!is_unknown, "{}.{}", entry.table_name(), field.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 500, "{seen}");
    let kind = super::custom_kind_schema("kubeflow.org", "v1", "PyTorchJob");
    assert!(kind.is_some());
    assert!(super::custom_kind_schema("kubeflow.example.com", "v1", "PyTorchJob").is_none());
}
