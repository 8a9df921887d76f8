//! Access to fields of JSON values.

pub use kueue_lab_json::*;
