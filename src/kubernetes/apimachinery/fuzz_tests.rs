//! Fuzz targets: decoders and parsers of what clients send do not panic, and do not overflow the
//! stack.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::field_selector::FieldSelector;
use crate::fieldmanager::field_set::FieldSet;
use crate::label_selector::LabelSelector;
use crate::patch::{FieldValidation, PatchType, patch};
use crate::schema::decode::{DecodeSource, decode};
use crate::schema::{builtin_schema, strict_json};
use kueue_lab_testing::assert_parses_nested_texts;

/// Parses a text with every parser of texts.
fn parse_all(text: &str) {
    let _ = strict_json::parse(text.as_bytes());
    let _ = strict_json::parse_yaml(text.as_bytes());
    let _ = LabelSelector::parse(text);
    let _ = FieldSelector::parse(text);
    patch_all(text.as_bytes());
}

/// Applies a patch of every type to a pod.
fn patch_all(body: &[u8]) {
    let Some(schema) = builtin_schema("", "v1", "Pod") else {
        return;
    };
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]},
    });
    let settle = |object: &mut Value, source: DecodeSource| decode(&schema, object, source);
    for kind in [PatchType::Json, PatchType::Merge, PatchType::Strategic] {
        let _ = patch(kind, &schema, &settle, &pod, body, FieldValidation::Strict);
    }
}

/// Values whose keys and strings occur in objects and patches.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z$./~{}:0-9-]{0,12}",
        prop::sample::select(vec![
            "$patch",
            "delete",
            "replace",
            "op",
            "path",
            "from",
            "value",
            "add",
            "copy",
            "move",
            "test",
            "remove",
            "/spec/containers/0",
            "/metadata/labels/a",
            "/-",
            "spec",
            "containers",
            "name",
            "metadata",
            "labels",
            "$setElementOrder/containers",
            "$retainKeys",
            "f:spec",
            "k:{\"name\":\"c\"}",
            "v:1",
            "i:0",
            ".",
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((text.clone(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Texts of up to 40 of these tokens.
fn tokens(tokens: &'static [&'static str]) -> impl Strategy<Value = String> {
    vec(prop::sample::select(tokens), 0..40).prop_map(|tokens| tokens.concat())
}

const YAML_TOKENS: [&str; 44] = [
    "a",
    "b",
    "1",
    "0x1f",
    "1e999",
    "-0",
    "null",
    "~",
    "true",
    "'",
    "\"",
    "\\u12",
    "\\x",
    "é",
    ": ",
    ":",
    "- ",
    "? ",
    ", ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a",
    "<<: ",
    "*a : ",
    "!!str ",
    "!!binary ",
    "!x ",
    "| ",
    "|2-\n",
    ">+\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n\t",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "# c\n",
    "\r\n",
    "\u{feff}",
];

proptest! {
    #[test]
    fn no_json_or_yaml_document_panics(text in tokens(&YAML_TOKENS)) {
        let _ = strict_json::parse(text.as_bytes());
        let _ = strict_json::parse_yaml(text.as_bytes());
    }

    #[test]
    fn no_text_panics(text in "[a-f ()\\[\\]{}<>=!,.:;/*+'\"\\\\?@$#&|0-9%~\n-]{0,80}") {
        parse_all(&text);
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = strict_json::parse(&bytes);
        let _ = strict_json::parse_yaml(&bytes);
        parse_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_value_panics_as_a_patch_or_field_set(value in value(), operations in vec(value(), 0..4)) {
        patch_all(value.to_string().as_bytes());
        patch_all(Value::from(operations).to_string().as_bytes());
        if let Ok(fields) = FieldSet::from_fields_v1(&value) {
            let _ = fields.paths();
        }
    }

    #[test]
    fn no_json_patch_panics(
        operations in vec(
            (
                prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]),
                prop::sample::select(vec!["", "/spec", "/spec/containers/0", "/spec/containers/-", "/metadata/labels/a", "/x/y"]),
                prop::sample::select(vec!["", "/spec", "/spec/containers/1", "/metadata"]),
                value(),
            ),
            0..6,
        ),
    ) {
        let operations = operations.into_iter().map(|(op, path, from, value)| {
            json!({"op": op, "path": path, "from": from, "value": value})
        });
        patch_all(Value::Array(operations.collect()).to_string().as_bytes());
    }
}

#[test]
fn nesting_does_not_overflow_the_stack() {
    assert_parses_nested_texts(parse_all);
}
