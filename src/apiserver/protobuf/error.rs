//! Decoding errors.

/// Error decoding a protobuf body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// The body has no `k8s\0` prefix.
    #[error("provided data does not appear to be a protobuf message, expected prefix \"k8s\\x00\"")]
    NoPrefix,
    /// A length or tag exceeds the data.
    #[error("unexpected EOF")]
    Truncated,
    /// A field has a wire type that differs from its declaration.
    #[error("proto: wrong wireType for field {0}")]
    WireType(&'static str),
    /// A string field is not valid UTF-8.
    #[error("proto: field {0} contains invalid UTF-8")]
    Text(&'static str),
    /// Messages are nested too deeply.
    #[error("proto: nesting too deep")]
    Depth,
    /// The kind has no protobuf message here.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    UnknownKind {
        /// The apiVersion of the envelope.
        api_version: String,
        /// The kind of the envelope.
        kind: String,
    },
}
