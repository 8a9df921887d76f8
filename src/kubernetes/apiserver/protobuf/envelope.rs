//! The `runtime.Unknown` envelope of an object.

use prost::Message;
use prost_reflect::DynamicMessage;
use serde_json::Value;

use super::error::ProtobufError;
use super::{descriptors, from_json, to_json};

/// Media type of Kubernetes protobuf.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Magic prefix of every object.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// `runtime.Unknown`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Unknown {
    #[prost(message, optional, tag = "1")]
    pub(super) type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(super) raw: Option<Vec<u8>>,
    #[prost(string, optional, tag = "3")]
    pub(super) content_encoding: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(super) content_type: Option<String>,
}

/// `runtime.TypeMeta`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeMeta {
    #[prost(string, optional, tag = "1")]
    pub(super) api_version: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) kind: Option<String>,
}

/// Decodes an object, with the apiVersion and kind of the envelope.
///
/// # Errors
/// [`ProtobufError`] if the bytes are malformed or the kind has no message.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::NoPrefix)?;
    let unknown = Unknown::decode(envelope)?;
    let types = unknown.type_meta.unwrap_or_default();
    let api_version = types.api_version.unwrap_or_default();
    let kind = types.kind.unwrap_or_default();
    let message = descriptors::message_of(&api_version, &kind)?;
    let message = DynamicMessage::decode(message, unknown.raw.unwrap_or_default().as_slice())?;
    let mut object = to_json::object(&message)?;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), kind.into());
    }
    Ok(object)
}

/// Encodes an object with apiVersion and kind.
///
/// # Errors
/// [`ProtobufError::UnknownKind`] if the kind has no message.
pub(crate) fn encode(object: &Value) -> Result<Vec<u8>, ProtobufError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let types = TypeMeta {
        api_version: Some(text("apiVersion")),
        kind: Some(text("kind")),
    };
    let message = descriptors::message_of(&text("apiVersion"), &text("kind"))?;
    let unknown = Unknown {
        type_meta: Some(types),
        raw: Some(from_json::message(&message, object)?.encode_to_vec()),
        // gogo/protobuf writes fields that are not pointers even if they are empty.
        content_encoding: Some(String::new()),
        content_type: Some(String::new()),
    };
    let mut bytes = Vec::with_capacity(MAGIC.len().saturating_add(unknown.encoded_len()));
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&unknown.encode_to_vec());
    Ok(bytes)
}
