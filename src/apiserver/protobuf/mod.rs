//! Reading the protobuf form of built-in objects, which Go clients send for the kinds they know.
//!
//! Only decoding: every client that sends protobuf also accepts JSON. The table in `fields.txt`
//! gives the field numbers, JSON names and types of each message; what a value means (defaults,
//! omitted zeros) is left to `schema`. Must not know kinds or storage.

mod envelope;
mod error;
mod message;
mod table;
mod wire;

#[cfg(test)]
mod tests;

pub use envelope::{MEDIA_TYPE, decode};

pub use error::ProtobufError;
