//! Encoding and decoding of API objects as JSON.
//!
//! serde's code for a kind is generic: each crate that decodes a Pod would contain its own copy of
//! the visitors of PodSpec and everything in it, a third of the code of the controllers. The
//! methods of [`Codec`] are not generic, so that the code of each kind is compiled once.

mod builtin_kinds;
mod codec;
mod custom_resource;

pub use codec::Codec;
#[doc(hidden)]
pub use {k8s_openapi, serde_json};
