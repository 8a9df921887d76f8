//! Frames of a watch: `meta.v1.WatchEvent` without envelope, each after its length.

use prost::Message;

/// `meta.v1.WatchEvent`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchEvent {
    #[prost(string, optional, tag = "1")]
    pub(super) event_type: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub(super) object: Option<RawExtension>,
}

/// `runtime.RawExtension`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawExtension {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(super) raw: Option<Vec<u8>>,
}

/// The frame of an event: four bytes of length, big-endian, and the event. `object` is an encoded
/// object with its envelope.
pub(crate) fn frame(event_type: &str, object: &[u8]) -> Vec<u8> {
    let event = WatchEvent {
        event_type: Some(event_type.to_owned()),
        object: Some(RawExtension {
            raw: Some(object.to_vec()),
        }),
    };
    let length = event.encoded_len();
    let prefix = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = Vec::with_capacity(length.saturating_add(prefix.len()));
    frame.extend_from_slice(&prefix);
    frame.extend_from_slice(&event.encode_to_vec());
    frame
}
