//! Conversion between the versions of a kind: built-in, by plugin, by webhook.

pub(crate) mod builtin;
pub(crate) mod version_converter;
pub(crate) mod webhook_converter;
