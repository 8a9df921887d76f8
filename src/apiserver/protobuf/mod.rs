//! Decoding of the protobuf form of built-in objects, which Go clients send for built-in kinds.
//!
//! Encoding is not supported: every client that sends protobuf also accepts JSON. The table in
//! `fields.txt` lists the field numbers, JSON names and types of each message; defaulting and
//! omitted zero values are handled in `schema`. Must not depend on kinds or storage.

mod envelope;
mod error;
mod message;
mod table;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use envelope::{MEDIA_TYPE, decode};

pub(crate) use error::ProtobufError;
