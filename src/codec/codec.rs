//! [`Codec`]: a kind's encoder and decoder.

use serde_json::{Result, Value};

/// A type of the API that can be encoded and decoded as JSON. Implemented with
/// [`impl_codec!`](crate::impl_codec) in the crate of the type, and in this crate for the types of
/// Kubernetes.
pub trait Codec: Sized {
    /// Decodes an object.
    ///
    /// # Errors
    /// The text is not JSON, or a field of the kind has another type.
    fn decode(text: &str) -> Result<Self>;

    /// Encodes an object.
    ///
    /// # Errors
    /// A map has keys that are not strings; no kind has one.
    fn encode(&self) -> Result<String>;

    /// Decodes an object from a JSON value.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    fn from_value(value: &Value) -> Result<Self> {
        Self::decode(&serde_json::to_string(value)?)
    }

    /// Encodes an object as a JSON value.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    fn to_value(&self) -> Result<Value> {
        serde_json::from_str(&self.encode()?)
    }
}

/// Implements [`Codec`] for types that implement serde's traits.
#[macro_export]
macro_rules! impl_codec {
    ($($kind:ty),+ $(,)?) => {$(
        impl $crate::Codec for $kind {
            fn decode(text: &str) -> $crate::serde_json::Result<Self> {
                $crate::serde_json::from_str(text)
            }

            fn encode(&self) -> $crate::serde_json::Result<String> {
                $crate::serde_json::to_string(self)
            }
        }
    )+};
}
