//! Transforms stored objects into the representation the client requested.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::response::{ApiResponse, not_encodable};
use crate::protobuf;
use crate::registry::ServedResource;
use crate::request::content_negotiation::Encoding;
use crate::request::{MediaTypeOptions, ResponseForm};
use crate::server_state::ServerState;
use crate::storage::Object;
use kueue_lab_apimachinery::api_error::ApiError;

/// The requested representation of objects of one kind.
#[derive(Clone)]
pub(super) struct ResponseTransformer {
    pub(super) core: Arc<ServerState>,
    pub(super) served: Arc<ServedResource>,
    pub(super) accept: MediaTypeOptions,
    pub(super) include: IncludeObjectPolicy,
}

/// The content of the `object` field of Table rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IncludeObjectPolicy {
    Nothing,
    Metadata,
    Object,
}

impl IncludeObjectPolicy {
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

/// The object in the version of `served`.
pub(super) fn decoded(
    core: &ServerState,
    served: &ServedResource,
    object: &Arc<Object>,
) -> Result<Arc<Value>, ApiError> {
    let stored = object.value();
    if is_stored_form(served, object) {
        return Ok(stored);
    }
    if let Some(bytes) = object.cached_encoding(&served.encoding_key)
        && let Ok(value) = serde_json::from_slice(&bytes)
    {
        return Ok(Arc::new(value));
    }
    let mut value = (*stored).clone();
    core.version_converter()
        .to_served_version(served, &mut value)?;
    Ok(Arc::new(value))
}

/// Whether the object is served as stored: in the storage version, defaulted and pruned with the
/// current schema.
pub(super) fn is_stored_form(served: &ServedResource, object: &Object) -> bool {
    served.is_storage_version() && served.schema_generation == object.schema_generation()
}

/// The object's JSON in the version of `served`; encoded once per version.
pub(super) fn encoded(
    core: &ServerState,
    served: &ServedResource,
    object: &Arc<Object>,
) -> Result<Bytes, ApiError> {
    if is_stored_form(served, object) {
        return Ok(object.bytes().clone());
    }
    object.encoding_in_version(&served.encoding_key, || {
        let value = decoded(core, served, object)?;
        serde_json::to_vec(&*value)
            .map(Bytes::from)
            .map_err(|e| ApiError::internal(e.to_string()))
    })
}

/// Converts the objects of a list with one call of a conversion webhook, and keeps their encodings.
pub(super) fn convert_list<'o>(
    core: &ServerState,
    served: &ServedResource,
    objects: impl Iterator<Item = &'o Arc<Object>>,
) -> Result<(), ApiError> {
    if served.is_storage_version() {
        return Ok(());
    }
    let objects: Vec<&Arc<Object>> = objects
        .filter(|o| o.cached_encoding(&served.encoding_key).is_none())
        .collect();
    let stored = objects.iter().map(|o| (*o.value()).clone()).collect();
    let converter = core.version_converter();
    let Some(converted) = converter.list_to_served_version(served, stored)? else {
        return Ok(());
    };
    for (object, value) in objects.into_iter().zip(converted) {
        let encoded = || serde_json::to_vec(&value).map(Bytes::from);
        object
            .encoding_in_version(&served.encoding_key, encoded)
            .map_err(|e| ApiError::internal(e.to_string()))?;
    }
    Ok(())
}

/// The object as PartialObjectMetadata.
pub(super) fn partial_object_metadata(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

impl ResponseTransformer {
    /// The object in the request's API version.
    pub(super) fn decoded(&self, object: &Arc<Object>) -> Result<Arc<Value>, ApiError> {
        decoded(&self.core, &self.served, object)
    }

    /// The object in the request's API version, with another resource version.
    pub(super) fn decoded_at(
        &self,
        object: &Arc<Object>,
        resource_version: u64,
    ) -> Result<Value, ApiError> {
        let mut value = (*self.decoded(object)?).clone();
        value["metadata"]["resourceVersion"] = resource_version.to_string().into();
        Ok(value)
    }

    /// An object with at least kind, apiVersion and metadata; avoids decoding where possible.
    pub(super) fn partial_metadata(&self, object: &Arc<Object>) -> Result<Arc<Value>, ApiError> {
        match object.partial_metadata() {
            Some(head) if is_stored_form(&self.served, object) => Ok(head.clone()),
            _ => self.decoded(object),
        }
    }

    /// The object as PartialObjectMetadata in the encoding of the request; encoded once per
    /// version.
    pub(super) fn encoded_partial_metadata(&self, object: &Arc<Object>) -> Result<Bytes, ApiError> {
        let is_protobuf = self.accept.encoding == Encoding::Protobuf;
        let format = if is_protobuf { "protobuf" } else { "json" };
        let key = format!("{};metadata;{format}", self.served.encoding_key);
        object.encoding_in_version(&key, || {
            let value = partial_object_metadata(&*self.partial_metadata(object)?);
            let encoded = match is_protobuf {
                true => protobuf::encode(&value).map_err(|error| not_encodable(&value, &error))?,
                false => serde_json::to_vec(&value)
                    .map_err(|error| ApiError::internal(error.to_string()))?,
            };
            Ok(encoded.into())
        })
    }

    /// The object's JSON in the request's API version.
    pub(super) fn encoded(&self, object: &Arc<Object>) -> Result<Bytes, ApiError> {
        encoded(&self.core, &self.served, object)
    }

    /// The object's protobuf in the request's API version; encoded once per version.
    pub(super) fn protobuf(&self, object: &Arc<Object>) -> Result<Bytes, ApiError> {
        let key = format!("{};protobuf", self.served.encoding_key);
        object.encoding_in_version(&key, || {
            let value = self.decoded(object)?;
            let bytes = protobuf::encode(&value).map_err(|error| not_encodable(&value, &error))?;
            Ok(Bytes::from(bytes))
        })
    }

    /// The response for one stored object.
    pub(super) fn object_response(
        &self,
        status: u16,
        object: &Arc<Object>,
    ) -> Result<ApiResponse, ApiError> {
        match self.accept.form {
            ResponseForm::Object | ResponseForm::Discovery => {
                if self.accept.encoding == Encoding::Protobuf {
                    let body = self.protobuf(object)?.into();
                    return Ok(ApiResponse::new(status, protobuf::MEDIA_TYPE, body));
                }
                let json = self.encoded(object)?;
                Ok(ApiResponse::encoded(status, self.accept, json))
            }
            ResponseForm::Table => Ok(self.value_response(status, &*self.decoded(object)?)),
            ResponseForm::PartialObjectMetadata => {
                Ok(self.value_response(status, &*self.partial_metadata(object)?))
            }
        }
    }

    /// The response for an object that is not stored in this form.
    pub(super) fn value_response(&self, status: u16, object: &Value) -> ApiResponse {
        let seen = match self.accept.form {
            ResponseForm::Object | ResponseForm::Discovery => {
                return ApiResponse::value(status, self.accept, object);
            }
            ResponseForm::PartialObjectMetadata => partial_object_metadata(object),
            ResponseForm::Table => self.table([self.table_row(object)], &object["metadata"], true),
        };
        ApiResponse::value(status, self.accept, &seen)
    }

    /// The Table row of one object.
    pub(super) fn table_row(&self, object: &Value) -> Value {
        let cells = self
            .served
            .kind
            .strategy
            .table_cells(object, self.core.clock.now());
        let seen = match self.include {
            IncludeObjectPolicy::Nothing => Value::Null,
            IncludeObjectPolicy::Metadata => partial_object_metadata(object),
            IncludeObjectPolicy::Object => object.clone(),
        };
        json!({"cells": cells, "object": seen})
    }

    /// A Table of the given rows, with the list `metadata`; a watch sends the column definitions
    /// with its first event only.
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
            "columnDefinitions": with_columns.then(|| self.column_definitions()),
            "rows": rows.into(),
        })
    }

    fn column_definitions(&self) -> Vec<Value> {
        let columns = self.served.kind.strategy.table_columns().into_iter();
        let column = |c: kueue_lab_apimachinery::strategy::table_column::TableColumn| {
            json!({
                "name": c.name,
                "type": c.column_type,
                "format": c.format,
                "description": c.description,
                "priority": c.priority,
            })
        };
        columns.map(column).collect()
    }
}
