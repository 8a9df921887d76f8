use serde_json::json;

use super::envelope::MAGIC;
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
fn invalid_protobuf_is_rejected() {
    assert_eq!(decode(b"{}"), Err(ProtobufError::NoPrefix));
    assert_eq!(decode(b"k8s\0\x0a\x7f"), Err(ProtobufError::Truncated));
    assert!(matches!(
        decode(&body("x.io/v1", "Nope", &[])),
        Err(ProtobufError::UnknownKind { .. })
    ));
}

proptest::proptest! {
    #[test]
    fn decoding_does_not_panic_on_any_bytes(raw in proptest::collection::vec(0u8.., 0..200)) {
        let _ = decode(&body("v1", "Pod", &raw[..raw.len().min(100)]));
        let _ = decode(&[MAGIC, &raw].concat());
    }
}
