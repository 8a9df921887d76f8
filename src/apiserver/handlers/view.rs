//! A stored object as a client wants to see it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::convert;
use super::reply::Reply;
use crate::registry::Served;
use crate::request::{Accept, Form};
use crate::server::Core;
use crate::status::ApiError;
use crate::store::Object;

/// How one client wants to see objects of one kind.
#[derive(Clone)]
pub(super) struct View {
    pub(super) core: Arc<Core>,
    pub(super) served: Arc<Served>,
    pub(super) accept: Accept,
    pub(super) include: Include,
}

/// What the rows of a table carry besides cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`.
    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::Nothing),
            other => Err(ApiError::bad_request(format!(
                "unrecognized includeObject value: {other:?}"
            ))),
        }
    }
}

/// The object in the version `served` serves.
pub(super) fn decoded(
    core: &Core,
    served: &Served,
    object: &Arc<Object>,
) -> Result<Arc<Value>, ApiError> {
    let stored = object.value();
    if as_stored(served, object) {
        return Ok(stored);
    }
    let mut value = (*stored).clone();
    convert::into(core, served, &mut value)?;
    Ok(Arc::new(value))
}

/// Whether an object is served just as it is stored: in the same version, settled by the same
/// schema.
pub(super) fn as_stored(served: &Served, object: &Object) -> bool {
    served.is_stored_version() && served.shape == object.shape()
}

/// The object's JSON in the version `served` serves; encoded once per version.
pub(super) fn encoded(
    core: &Core,
    served: &Served,
    object: &Arc<Object>,
) -> Result<Bytes, ApiError> {
    if as_stored(served, object) {
        return Ok(object.bytes().clone());
    }
    object.version(&served.encoding, || {
        let value = decoded(core, served, object)?;
        serde_json::to_vec(&*value)
            .map(Bytes::from)
            .map_err(|e| ApiError::internal(e.to_string()))
    })
}

/// Only kind and metadata of an object.
pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

impl View {
    /// The object in the version this client speaks.
    pub(super) fn decoded(&self, object: &Arc<Object>) -> Result<Arc<Value>, ApiError> {
        decoded(&self.core, &self.served, object)
    }

    /// At least kind, apiVersion and metadata of the object, for little.
    pub(super) fn head(&self, object: &Arc<Object>) -> Result<Arc<Value>, ApiError> {
        match object.head() {
            Some(head) if as_stored(&self.served, object) => Ok(head.clone()),
            _ => self.decoded(object),
        }
    }

    /// The object's JSON in the version this client speaks.
    pub(super) fn encoded(&self, object: &Arc<Object>) -> Result<Bytes, ApiError> {
        encoded(&self.core, &self.served, object)
    }

    /// The answer that shows one stored object.
    pub(super) fn show(&self, status: u16, object: &Arc<Object>) -> Result<Reply, ApiError> {
        match self.accept.form {
            Form::Plain | Form::Discovery => {
                let json = self.encoded(object)?;
                Ok(Reply::encoded(status, self.accept, json))
            }
            Form::Table => Ok(self.show_value(status, &*self.decoded(object)?)),
            Form::Partial => Ok(self.show_value(status, &*self.head(object)?)),
        }
    }

    /// The answer that shows one object that is not stored, or not like this.
    pub(super) fn show_value(&self, status: u16, object: &Value) -> Reply {
        let seen = match self.accept.form {
            Form::Plain | Form::Discovery => return Reply::value(status, self.accept, object),
            Form::Partial => partial(object),
            Form::Table => self.table([self.row(object)], &object["metadata"], true),
        };
        Reply::value(status, self.accept, &seen)
    }

    /// The row of one object in a table.
    pub(super) fn row(&self, object: &Value) -> Value {
        let cells = self
            .served
            .kind
            .behaviour
            .cells(object, self.core.clock.now());
        let seen = match self.include {
            Include::Nothing => Value::Null,
            Include::Metadata => partial(object),
            Include::Object => object.clone(),
        };
        json!({"cells": cells, "object": seen})
    }

    /// A table of the given rows, with the paging and version out of `metadata`; a watch sends the
    /// columns with its first event only.
    pub(super) fn table(
        &self,
        rows: impl Into<Vec<Value>>,
        metadata: &Value,
        with_columns: bool,
    ) -> Value {
        let mut meta = serde_json::Map::new();
        for key in ["resourceVersion", "continue", "remainingItemCount"] {
            if let Some(v) = metadata.get(key) {
                meta.insert(key.into(), v.clone());
            }
        }
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": with_columns.then(|| self.columns()),
            "rows": rows.into(),
        })
    }

    fn columns(&self) -> Vec<Value> {
        let columns = self.served.kind.behaviour.columns().into_iter();
        let column = |c: crate::kind::Column| {
            json!({
                "name": c.name,
                "type": c.kind,
                "format": c.format,
                "description": c.description,
                "priority": c.priority,
            })
        };
        columns.map(column).collect()
    }
}
