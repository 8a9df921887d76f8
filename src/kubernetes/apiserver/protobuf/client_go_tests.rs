//! Objects as client-go encodes them, recorded by `scripts/client-go-fixtures.sh`.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde_json::Value;

use super::watch_event::WatchEvent;
use super::*;
use kueue_lab_testing::recordings;

/// A recorded object: what was sent, the object, the type of a watch event, and the bytes.
fn fixtures() -> Vec<(String, Value, String, Vec<u8>)> {
    let file = recordings("client-go-protobuf").join("objects.jsonl");
    let text = fs::read_to_string(file).unwrap();
    let fixtures = text.lines().map(|line| {
        let mut fixture: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| fixture[name].as_str().unwrap_or_default().to_owned();
        let bytes = STANDARD.decode(text("protobuf")).unwrap();
        let (form, event) = (text("form"), text("event"));
        (form, fixture["object"].take(), event, bytes)
    });
    fixtures.collect()
}

/// Asserts that `decoded` has all of `expected`; protobuf also has fields that JSON omits.
fn assert_contains(decoded: &Value, expected: &Value, path: &str) {
    match (decoded, expected) {
        (Value::Object(decoded), Value::Object(expected)) => {
            for (name, value) in expected {
                let path = format!("{path}.{name}");
                assert_contains(decoded.get(name).unwrap_or(&Value::Null), value, &path);
            }
        }
        (Value::Array(decoded), Value::Array(expected)) => {
            assert_eq!(decoded.len(), expected.len(), "{path}");
            for (i, (decoded, expected)) in decoded.iter().zip(expected).enumerate() {
                assert_contains(decoded, expected, &format!("{path}[{i}]"));
            }
        }
        // Empty values that JSON has and protobuf does not distinguish from absent ones.
        (Value::Null, expected) if is_empty(expected) => {}
        (decoded, expected) => assert_eq!(decoded, expected, "{path}"),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

#[test]
fn objects_of_client_go_are_decoded_and_encoded_again() {
    for (form, object, _, bytes) in fixtures() {
        if form == "watch" {
            continue;
        }
        let name = format!("{form} {} {}", object["apiVersion"], object["kind"]);
        let decoded = decode(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_contains(&decoded, &object, &name);
        let again = encode(&decoded).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_contains(&decode(&again).unwrap(), &decoded, &name);
        let encoded = encode(&object).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_contains(&decode(&encoded).unwrap(), &object, &name);
    }
}

#[test]
fn watch_frames_equal_those_of_apimachinery() {
    let frames = fixtures().into_iter().filter(|(form, ..)| form == "watch");
    let mut count = 0;
    for (_, object, event, bytes) in frames {
        let received = WatchEvent::decode(&bytes[4..]).unwrap();
        let raw = received.object.and_then(|object| object.raw).unwrap();
        assert_contains(&decode(&raw).unwrap(), &object, &event);
        assert_eq!(frame(&event, &raw), bytes, "{event}");
        count += 1;
    }
    assert_eq!(count, 5);
}
