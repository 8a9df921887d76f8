use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng};
use serde_json::{Map, Value, json};

use super::descriptors::messages;
use super::envelope::MAGIC;
use super::watch_event::WatchEvent;
use super::well_known::{WellKnown, well_known};
use super::*;

/// Encodes one length-delimited field.
fn part(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, payload.len() as u8];
    out.extend_from_slice(payload);
    out
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [part(1, api_version.as_bytes()), part(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), part(1, &meta), part(2, raw)].concat()
}

#[test]
fn a_config_map_as_kubectl_sends_it() {
    let metadata = [part(1, b"a"), part(2, b""), part(3, b""), part(8, b"")].concat();
    let data = [part(1, b"x"), part(2, b"1")].concat();
    let binary = [part(1, b"y"), part(2, &[0xff, 0])].concat();
    let raw = [part(1, &metadata), part(2, &data), part(3, &binary)].concat();
    assert_eq!(
        decode(&body("v1", "ConfigMap", &raw)).unwrap(),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "generateName": "", "namespace": "", "creationTimestamp": null},
            "data": {"x": "1"}, "binaryData": {"y": "/wA="},
        })
    );
}

#[test]
fn numbers_quantities_times_and_inlined_messages() {
    let requests = part(2, &[part(1, b"cpu"), part(2, &part(1, b"100m"))].concat());
    let container = [part(1, b"c"), part(8, &requests)].concat();
    let volume = [part(1, b"v"), part(2, &part(2, &part(1, b"Memory")))].concat();
    // activeDeadlineSeconds (5) = -1, a ten-byte varint.
    let minus_one = [vec![5 << 3], vec![0xff; 9], vec![1]].concat();
    let spec = [part(1, &volume), part(2, &container), minus_one].concat();
    let created = part(8, &[1 << 3, 60]);
    let raw = [part(1, &created), part(2, &spec)].concat();
    let pod = decode(&body("v1", "Pod", &raw)).unwrap();
    assert_eq!(pod["metadata"]["creationTimestamp"], "1970-01-01T00:01:00Z");
    assert_eq!(
        pod["spec"],
        json!({
            "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}],
            "activeDeadlineSeconds": -1,
        })
    );
}

#[test]
fn an_object_is_encoded_as_in_go() {
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"},
    });
    let data = [part(1, b"x"), part(2, b"1")].concat();
    let raw = [part(1, &part(1, b"a")), part(2, &data)].concat();
    let envelope = [body("v1", "ConfigMap", &raw), part(3, b""), part(4, b"")].concat();
    assert_eq!(encode(&config_map).unwrap(), envelope);
    let frame = frame("ADDED", &envelope);
    let (length, event) = frame.split_at(4);
    assert_eq!(length, (event.len() as u32).to_be_bytes());
    let event = WatchEvent::decode(event).unwrap();
    assert_eq!(event.event_type.as_deref(), Some("ADDED"));
    assert_eq!(event.object.unwrap().raw, Some(envelope));
}

#[test]
fn schemas_of_definitions_keep_their_forms() {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {
                "a": {"type": "object", "additionalProperties": true},
                "b": {"type": "object", "additionalProperties": {"type": "string"}},
                "c": {"type": "array", "items": {"type": "integer"}, "default": [1]},
                "d": {"x-kubernetes-int-or-string": true, "enum": ["x", 1]},
            },
        }}}]},
    });
    assert_eq!(decode(&encode(&definition).unwrap()).unwrap(), definition);
}

#[test]
fn kinds_without_messages_are_rejected() {
    let workload = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"});
    assert!(matches!(
        encode(&workload),
        Err(ProtobufError::UnknownKind { .. })
    ));
    let wrong = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"hostNetwork": "yes"}});
    assert!(matches!(encode(&wrong), Err(ProtobufError::ValueType(_))));
}

#[test]
fn invalid_protobuf_is_rejected() {
    assert_eq!(decode(b"{}"), Err(ProtobufError::NoPrefix));
    assert!(matches!(
        decode(b"k8s\0\x0a\x7f"),
        Err(ProtobufError::Malformed(_))
    ));
    assert!(matches!(
        decode(&body("x.io/v1", "Nope", &[])),
        Err(ProtobufError::UnknownKind { .. })
    ));
}

/// A random JSON value of a message.
fn random_object(message: &MessageDescriptor, depth: u32, random: &mut StdRng) -> Value {
    if let Some(kind) = well_known(message) {
        return random_special(kind, message, depth, random);
    }
    if let Some(items) = message.fields().find(|field| field.json_name() == "*") {
        return random_field(&items, depth, random);
    }
    let mut object = Map::new();
    random_fields(message, depth, random, &mut object);
    Value::Object(object)
}

fn random_fields(
    message: &MessageDescriptor,
    depth: u32,
    random: &mut StdRng,
    object: &mut Map<String, Value>,
) {
    for field in message.fields() {
        let inner = field.kind();
        match (field.json_name(), inner.as_message()) {
            ("-", _) => {}
            (name, Some(inline)) if name.starts_with('>') => {
                random_fields(inline, depth, random, object);
            }
            (_, Some(_)) if depth == 0 => {}
            (name, _) if random.random_bool(0.5) => {
                let value = random_field(&field, depth.saturating_sub(1), random);
                object.insert(name.to_owned(), value);
            }
            _ => {}
        }
    }
}

fn random_field(field: &FieldDescriptor, depth: u32, random: &mut StdRng) -> Value {
    let kind = field.kind();
    // An empty list or map is absent on the wire.
    let count = random.random_range(1..3);
    if field.is_map() {
        let entry = kind.as_message().unwrap().map_entry_value_field();
        let entries = (0..count).map(|i| {
            let value = random_single(&entry.kind(), depth, random);
            (format!("key-{i}"), value)
        });
        return Value::Object(entries.collect());
    }
    if field.is_list() {
        return (0..count)
            .map(|_| random_single(&kind, depth, random))
            .collect();
    }
    random_single(&kind, depth, random)
}

fn random_single(kind: &Kind, depth: u32, random: &mut StdRng) -> Value {
    match kind {
        Kind::Bool => random.random::<bool>().into(),
        Kind::Int32 => random.random::<i32>().into(),
        Kind::Int64 => random.random::<i64>().into(),
        Kind::Uint64 => random.random::<u64>().into(),
        Kind::Double => f64::from(random.random::<i16>()).into(),
        Kind::String => format!("é{}", random.random::<u16>()).into(),
        Kind::Bytes => "AP8=".into(),
        Kind::Message(message) => random_object(message, depth, random),
        kind => panic!("the Kubernetes API has no fields of type {kind:?}"),
    }
}

fn random_special(
    kind: WellKnown,
    message: &MessageDescriptor,
    depth: u32,
    random: &mut StdRng,
) -> Value {
    let schema = |random: &mut StdRng| {
        let schema = message.get_field_by_name("schema").unwrap().kind();
        random_object(
            schema.as_message().unwrap(),
            depth.saturating_sub(1),
            random,
        )
    };
    match kind {
        WellKnown::Time => json!("2026-02-03T04:05:06Z"),
        WellKnown::MicroTime => json!("2026-02-03T04:05:06.000007Z"),
        WellKnown::Duration => json!("1m30s"),
        WellKnown::Quantity => json!("1500m"),
        WellKnown::IntOrString if random.random() => json!(random.random::<i32>()),
        WellKnown::IntOrString => json!("25%"),
        WellKnown::Json => json!({"f:a": {}, "b": [1, "x"]}),
        WellKnown::SchemaOrBool if random.random() => json!(random.random::<bool>()),
        WellKnown::SchemaOrStringArray if random.random() => json!(["a", "b"]),
        WellKnown::SchemaOrArray if random.random() => json!([schema(random)]),
        _ => schema(random),
    }
}

proptest! {
    /// Messages of the API keep their JSON form on the wire: all of them within 32 cases.
    #[test]
    fn messages_round_trip(seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        for message in messages().into_iter().skip(random.random_range(0..16)).step_by(16) {
            let object = random_object(&message, 3, &mut random);
            let bytes = from_json::message(&message, &object).unwrap().encode_to_vec();
            let decoded = DynamicMessage::decode(message.clone(), bytes.as_slice()).unwrap();
            prop_assert_eq!(to_json::object(&decoded).unwrap(), object, "{}", message.full_name());
        }
    }

    #[test]
    fn decoding_does_not_panic_on_any_bytes(raw in proptest::collection::vec(0u8.., 0..200)) {
        let _ = decode(&body("v1", "Pod", &raw[..raw.len().min(100)]));
        let _ = decode(&[MAGIC, &raw].concat());
    }
}
