//! The protobuf form of built-in objects, `application/vnd.kubernetes.protobuf`.
//!
//! `descriptors.binpb.gz` holds the message descriptors of the Kubernetes API with the JSON name of
//! each field; scripts/protobuf-descriptors.py generates it. Defaulting and omitted zero values are
//! handled in `schema`. Must not depend on kinds or storage.

mod descriptors;
mod envelope;
mod error;
mod from_json;
mod to_json;
mod watch_event;
mod well_known;

#[cfg(test)]
mod client_go_tests;
#[cfg(test)]
mod tests;

pub(crate) use envelope::{MEDIA_TYPE, decode, encode};
pub(crate) use error::ProtobufError;
pub(crate) use watch_event::frame;
