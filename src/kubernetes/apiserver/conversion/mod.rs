//! Conversion between the versions of a kind: built-in (`kueue_lab_kinds::conversion`), by plugin,
//! by webhook.

pub(crate) mod version_converter;
pub(crate) mod webhook_converter;
