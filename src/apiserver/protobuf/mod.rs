//! Reading the protobuf form of built-in objects, which Go clients send for the kinds they know.
//!
//! Only decoding: every client that sends protobuf also accepts JSON. The table in `fields.txt`
//! gives the field numbers, JSON names and types of each message; what a value means (defaults,
//! omitted zeros) is left to `schema`. Must not know kinds or storage.

mod message;
mod table;
mod wire;

use serde_json::Value;

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// The bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// Another format, or protobuf without the envelope.
    #[error("provided data does not appear to be a protobuf message, expected prefix \"k8s\\x00\"")]
    NoPrefix,
    /// A length or tag points outside of the data.
    #[error("unexpected EOF")]
    Truncated,
    /// A field has another wire type than its message says.
    #[error("proto: wrong wireType for field {0}")]
    WireType(&'static str),
    /// Text is not UTF-8.
    #[error("proto: field {0} contains invalid UTF-8")]
    Text(&'static str),
    /// Messages within messages without end.
    #[error("proto: nesting too deep")]
    Depth,
    /// There is no protobuf form of this kind here.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    UnknownKind {
        /// The apiVersion of the envelope.
        api_version: String,
        /// The kind of the envelope.
        kind: String,
    },
}

/// Decodes a body into the JSON object it stands for, with the apiVersion and kind of the envelope.
///
/// # Errors
/// [`ProtobufError`] says what is wrong with the bytes.
pub fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
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

#[cfg(test)]
mod tests;
