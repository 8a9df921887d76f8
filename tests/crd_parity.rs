//! Compares the CRDs with upstream's field by field: names, versions, printer columns and schemas without
//! descriptions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use kueue_lab_api::crds::{Conversion, by_kind};
use kueue_lab_testing::shared;
use serde_json::{Value, json};

/// Upstream's CRDs; none without `../shared`.
fn upstream() -> Vec<Value> {
    let Some(folder) = shared("conformance/crds") else {
        return Vec::new();
    };
    let entries = folder.read_dir().unwrap();
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "yaml"))
        .map(|f| serde_yaml::from_str(&std::fs::read_to_string(f).unwrap()).unwrap())
        .collect()
}

/// A list as a set, for keywords without order.
fn sorted(list: &Value) -> BTreeSet<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect()
}

/// Records every difference of two schemas.
fn compare(path: &str, theirs: &Value, ours: &Value, differences: &mut Vec<String>) {
    let empty = serde_json::Map::new();
    let (a, b) = (
        theirs.as_object().unwrap_or(&empty),
        ours.as_object().unwrap_or(&empty),
    );
    let nested = ["description", "properties", "items", "additionalProperties"];
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys.into_iter().filter(|k| !nested.contains(&k.as_str())) {
        let (x, y) = (&theirs[key], &ours[key]);
        let same = if key == "required" {
            sorted(x) == sorted(y)
        } else {
            x == y
        };
        if !same {
            differences.push(format!("{path}: {key}: theirs {x}, ours {y}"));
        }
    }
    let properties = |v: &Value| -> BTreeSet<String> {
        v["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, _)| k.clone())
            .collect()
    };
    for name in properties(theirs).union(&properties(ours)) {
        let (x, y) = (&theirs["properties"][name], &ours["properties"][name]);
        match (x.is_null(), y.is_null()) {
            (false, false) => compare(&format!("{path}.{name}"), x, y, differences),
            (_, missing) => {
                let what = if missing {
                    "not in ours"
                } else {
                    "not in theirs"
                };
                differences.push(format!("{path}.{name}: {what}"));
            }
        }
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        match (&theirs[key], &ours[key]) {
            (x, y) if x.is_object() && y.is_object() => {
                compare(&format!("{path}{mark}"), x, y, differences);
            }
            (x, y) if x != y => differences.push(format!("{path}: {key}: theirs {x}, ours {y}")),
            _ => {}
        }
    }
}

/// The compared fields of a version besides the schema.
fn version_fields(version: &Value) -> Value {
    let mut header = version.clone();
    if let Some(map) = header.as_object_mut() {
        map.remove("schema");
        // Absent in two notations.
        if map.get("subresources") == Some(&json!({})) {
            map.remove("subresources");
        }
    }
    for column in header["additionalPrinterColumns"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if let Some(column) = column.as_object_mut() {
            column.remove("description");
        }
    }
    header
}

#[test]
fn crds_equal_upstreams() {
    let mut differences = Vec::new();
    let mut schemas = 0;
    for theirs in upstream() {
        let kind = theirs["spec"]["names"]["kind"].as_str().unwrap();
        let crd = by_kind(theirs["spec"]["group"].as_str().unwrap(), kind)
            .unwrap_or_else(|| panic!("no CRD for {kind}"));
        let ours = crd.object(&Conversion::None);
        for field in ["group", "names", "scope"] {
            assert_eq!(theirs["spec"][field], ours["spec"][field], "{kind}");
        }
        assert_eq!(theirs["metadata"]["name"], ours["metadata"]["name"]);
        let versions = |v: &Value| v["spec"]["versions"].as_array().unwrap().clone();
        let (a, b) = (versions(&theirs), versions(&ours));
        assert_eq!(a.len(), b.len(), "{kind}");
        for (x, y) in a.iter().zip(&b) {
            assert_eq!(version_fields(x), version_fields(y), "{kind}");
            let path = format!("{kind}/{}", x["name"].as_str().unwrap());
            let schema = |v: &Value| v["schema"]["openAPIV3Schema"].clone();
            compare(&path, &schema(x), &schema(y), &mut differences);
            schemas += 1;
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    println!("{schemas} schemas compared");
}

#[test]
fn the_comparison_finds_differences() {
    let theirs = json!({
        "type": "object", "required": ["a", "b"],
        "properties": {
            "a": { "type": "string", "maxLength": 3, "description": "theirs" },
            "b": { "type": "array", "items": { "type": "integer" } },
        },
    });
    let mut ours = theirs.clone();
    ours["required"] = json!(["b", "a"]);
    ours["properties"]["a"]["description"] = json!("ours");
    let mut none = Vec::new();
    compare("x", &theirs, &ours, &mut none);
    assert!(none.is_empty(), "{none:?}");

    ours["properties"]["a"]["maxLength"] = json!(4);
    ours["properties"]["b"]["items"]["minimum"] = json!(0);
    ours["properties"]["c"] = json!({ "type": "string" });
    let mut three = Vec::new();
    compare("x", &theirs, &ours, &mut three);
    assert_eq!(three.len(), 3, "{three:?}");
}
