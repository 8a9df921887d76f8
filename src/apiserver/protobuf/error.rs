//! Why a body cannot be decoded.

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
