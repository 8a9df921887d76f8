//! Kinds without anything particular: nothing defaulted, shown by name and time of creation.

use jiff::Timestamp;
use serde_json::Value;

use super::table::{column, name_cell, name_column};
use crate::apiserver::kind::{Behaviour, Column};

/// The behaviour of such a kind.
pub struct Plain;

impl Behaviour for Plain {
    fn columns(&self) -> Vec<Column> {
        vec![name_column(), column("Created At", "date", 0)]
    }

    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        let created = object.pointer("/metadata/creationTimestamp").cloned();
        vec![name_cell(object), created.unwrap_or_default()]
    }
}
