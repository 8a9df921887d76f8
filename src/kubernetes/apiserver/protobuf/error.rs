//! Errors of decoding and encoding.

/// Error decoding or encoding an object.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// The body has no `k8s\0` prefix.
    #[error("provided data does not appear to be a protobuf message, expected prefix \"k8s\\x00\"")]
    NoPrefix,
    /// The bytes are not a message of the kind.
    #[error("proto: {0}")]
    Malformed(#[from] prost::DecodeError),
    /// The bytes of an embedded object are not JSON.
    #[error("proto: field {0} is not valid JSON")]
    EmbeddedJson(String),
    /// A JSON value has another type than its field.
    #[error("proto: a value of field {0} has another type")]
    ValueType(String),
    /// The kind has no protobuf message here.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    UnknownKind {
        /// The apiVersion of the object.
        api_version: String,
        /// The kind of the object.
        kind: String,
    },
    /// The descriptors cannot be read.
    #[error("the protobuf descriptors are unreadable: {0}")]
    Descriptors(String),
}
