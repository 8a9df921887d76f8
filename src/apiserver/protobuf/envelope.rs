//! The `runtime.Unknown` envelope of a protobuf body.

use serde_json::Value;

use super::error::ProtobufError;
use super::{message, table, wire};

/// Media type of Kubernetes protobuf.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Magic prefix of every body.
pub(crate) const MAGIC: &[u8] = b"k8s\0";

/// Decodes a body into a JSON object, with the apiVersion and kind of the envelope.
///
/// # Errors
/// [`ProtobufError`] if the body is malformed or its kind is unknown.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoPrefix)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in wire::fields(envelope) {
        match field? {
            (1, wire::WireValue::Bytes(meta)) => (api_version, kind) = type_meta(meta)?,
            (2, wire::WireValue::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let message = table::message_of(&api_version, &kind);
    let Some(message) = message else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut object = message::decode(message, raw)?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), kind.into());
    }
    Ok(object)
}

fn type_meta(bytes: &[u8]) -> Result<(String, String), ProtobufError> {
    let (mut api_version, mut kind) = (String::new(), String::new());
    for field in wire::fields(bytes) {
        match field? {
            (1, wire::WireValue::Bytes(b)) => api_version = wire::text(b, "apiVersion")?,
            (2, wire::WireValue::Bytes(b)) => kind = wire::text(b, "kind")?,
            _ => {}
        }
    }
    Ok((api_version, kind))
}
