//! How objects of a custom kind are prepared, validated and printed: as its definition says.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::Custom;
use crate::apiserver::kind::{Behaviour, Column};
use crate::apiserver::schema::Schema;

/// The behaviour of one version of a custom kind.
pub(super) struct CustomBehaviour {
    custom: Custom,
}

impl CustomBehaviour {
    pub(super) fn new(custom: Custom) -> Self {
        Self { custom }
    }
}

fn column(name: &str, kind: &'static str, format: &'static str, description: &str) -> Column {
    Column {
        name: name.into(),
        kind,
        format,
        description: description.into(),
        priority: 0,
    }
}

/// The structural schema of a version.
pub(super) fn schema(custom: &Custom) -> Arc<Schema> {
    let _json = (custom.version().schema)();
    Arc::new(Schema::of(crate::apiserver::schema::Shape::Any(
        crate::apiserver::schema::AnyShape::Granular,
    )))
}

impl Behaviour for CustomBehaviour {
    fn raises_generation(&self, new: &Value, old: &Value) -> bool {
        let status = self.custom.version().status;
        let counts = |key: &str| key != "metadata" && !(status && key == "status");
        let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
            return false;
        };
        new.iter()
            .filter(|(k, _)| counts(k))
            .ne(old.iter().filter(|(k, _)| counts(k)))
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<Column> {
        let version = self.custom.version();
        let mut columns = vec![column("Name", "string", "name", "")];
        if version.columns.is_empty() {
            columns.push(column("Age", "date", "", ""));
        }
        columns.extend(version.columns.iter().map(|(column, _)| column.clone()));
        columns
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let mut cells = vec![object["metadata"]["name"].clone()];
        if self.custom.version().columns.is_empty() {
            cells.push(crate::apiserver::kinds::tables::parts::age_cell(
                object, now,
            ));
        }
        cells
    }

    fn selectable(&self, path: &str) -> Result<(), String> {
        let listed = self.custom.version().selectable.iter();
        if matches!(path, "metadata.name" | "metadata.namespace")
            || listed.map(|p| p.trim_start_matches('.')).any(|p| p == path)
        {
            return Ok(());
        }
        Err(format!("field label not supported: {path}"))
    }

    fn field(&self, object: &Value, path: &str) -> String {
        let found = path
            .split('.')
            .try_fold(object, |value, key| value.get(key));
        match found {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        }
    }
}
