//! The embedded text is what the types give, and makes whole definitions.

use serde_json::Value;

use super::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crds/schemas.txt");

fn generated() -> String {
    let schemas = generate::schemas();
    let lines = schemas.definitions.iter().chain(&schemas.roots);
    lines
        .map(|(name, schema)| format!("{name} {schema}\n"))
        .collect()
}

#[test]
fn the_embedded_schemas_are_those_of_the_types() {
    let now = generated();
    if std::env::var_os("UPDATE_CRDS").is_some() {
        std::fs::write(FILE, now).unwrap();
    } else if expand_refs::SCHEMAS != now {
        panic!("the types changed: run UPDATE_CRDS=1 cargo test --lib api::crds");
    }
}

#[test]
fn every_crd_is_complete() {
    for crd in CRDS {
        let object = crd.object(&Conversion::upstream());
        let text = object.to_string();
        assert!(
            !text.contains("$ref") && !text.contains("x-default"),
            "{}",
            crd.name()
        );
        assert_eq!(object["metadata"]["name"], crd.name());
        let versions = object["spec"]["versions"].as_array().unwrap();
        assert_eq!(versions.iter().filter(|v| v["storage"] == true).count(), 1);
        for version in versions {
            let schema = &version["schema"]["openAPIV3Schema"];
            assert!(
                schema["properties"]["metadata"].is_object(),
                "{}",
                crd.name()
            );
            walk(schema, &mut |node| {
                let typed = node["type"].is_string() || node["x-kubernetes-int-or-string"] == true;
                assert!(typed, "{}: {node}", crd.name());
            });
        }
        assert_eq!(
            object["spec"]["conversion"]["strategy"] == "Webhook",
            crd.needs_conversion
        );
    }
}

/// Calls `see` for a schema and all below it.
fn walk(schema: &Value, see: &mut impl FnMut(&Value)) {
    see(schema);
    for property in schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|p| p.values())
    {
        walk(property, see);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            walk(&schema[key], see);
        }
    }
}

#[test]
fn every_field_of_the_lab_has_a_description() {
    for crd in CRDS {
        let version = crd.storage().unwrap().name;
        let schema: Value = serde_json::from_str(&crd.schema_json(version).unwrap()).unwrap();
        for part in ["spec", "status"] {
            let fields = schema["properties"][part]["properties"].as_object();
            for (name, field) in fields.into_iter().flatten() {
                assert!(
                    field["description"].is_string(),
                    "{}.{part}.{name}",
                    crd.plural
                );
            }
        }
    }
}

#[test]
fn the_yaml_holds_every_definition_once() {
    let yaml = all_yaml(&Conversion::None).unwrap();
    for crd in CRDS {
        assert_eq!(
            yaml.matches(&format!("  name: {}\n", crd.name())).count(),
            1
        );
    }
    assert_eq!(
        yaml.matches("\nkind: CustomResourceDefinition\n").count(),
        CRDS.len()
    );
}

#[test]
fn unknown_versions_and_kinds_are_none() {
    let crd = by_kind("kueue.x-k8s.io", "Workload").unwrap();
    assert_eq!(crd.schema_json("v1alpha2"), None);
    assert_eq!(crd.version("v1alpha2"), None);
    assert_eq!(by_kind("kueue.x-k8s.io", "Pod"), None);
}
