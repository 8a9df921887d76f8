//! Objects between the version they are stored in and the versions that are served.

use std::sync::Arc;

use serde_json::Value;

use super::reader::Stored;
use crate::convert as builtin;
use crate::kinds::value::Look;
use crate::policy::Reader;
use crate::registry::Served;
use crate::schema::Schema;
use crate::schema::custom::default;
use crate::schema::decode::{Source, decode};
use crate::server::Core;
use crate::status::ApiError;

/// The object in the version `to` serves, whichever it is in.
pub(super) fn between(core: &Core, to: &Served, object: &Value) -> Result<Value, ApiError> {
    let mut object = object.clone();
    if object["apiVersion"] != to.api_version.as_str() {
        into(core, to, &mut object)?;
    }
    Ok(object)
}

/// Brings an object that is in the storage version, or another, into the version `to` serves.
pub(super) fn into(core: &Core, to: &Served, object: &mut Value) -> Result<(), ApiError> {
    if to.custom.is_some() && object["apiVersion"] == to.storage_api_version.as_str() {
        settle(storage_schema(core, to), object);
    }
    into_version(core, to, &to.api_version, object)?;
    if !to.is_stored_version() || to.custom.is_none() {
        // What conversion makes fits the schema; decoding settles what is written when unset.
        let schema = to.schema();
        let _ = schema.map(|schema| decode(&schema, object, Source::Json));
    }
    Ok(())
}

/// Brings an object into the version it is stored in.
pub(super) fn to_storage(core: &Core, served: &Served, object: &mut Value) -> Result<(), ApiError> {
    if served.is_stored_version() {
        return Ok(());
    }
    into_version(core, served, &served.storage_api_version, object)?;
    if served.custom.is_some() {
        settle(storage_schema(core, served), object);
    }
    Ok(())
}

/// The schema custom resources are stored by; `None` when its version is not served.
fn storage_schema(core: &Core, served: &Served) -> Option<Arc<Schema>> {
    let kind = &served.kind;
    if served.is_stored_version() {
        return served.schema();
    }
    core.registry
        .find(&kind.group, &kind.storage_version, &kind.plural)?
        .schema()
}

/// Leaves in a custom resource what its schema knows, and fills in defaults.
fn settle(schema: Option<Arc<Schema>>, object: &mut Value) {
    if let Some(schema) = schema {
        let _ = decode(&schema, object, Source::Json);
        default(&schema, object);
    }
}

fn into_version(
    core: &Core,
    served: &Served,
    api_version: &str,
    object: &mut Value,
) -> Result<(), ApiError> {
    let kind = &served.kind;
    let converter = core
        .sockets
        .converter()
        .filter(|c| c.handles(&kind.group, &kind.kind));
    match converter {
        Some(converter) => converter.convert(object, api_version).map_err(|why| {
            ApiError::internal(format!(
                "conversion of {} to {api_version} failed: {why}",
                kind.kind
            ))
        }),
        None => match webhook(core, served) {
            Some(config) if object["apiVersion"] != api_version => {
                let uid = core.entropy.uid();
                let converted = core.conversions.convert(&config, object, api_version, &uid);
                converted.map_err(ApiError::internal)
            }
            _ => {
                builtin::builtin(object, api_version);
                Ok(())
            }
        },
    }
}

/// The webhook that converts objects of a custom kind, if its definition names one.
fn webhook(core: &Core, served: &Served) -> Option<Value> {
    let name = &served.custom.as_ref()?.definition.name;
    let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
    let definition = Stored(core).get(group, plural, "", name)?;
    let conversion = definition.at("/spec/conversion");
    let asks = conversion.text("/strategy") == "Webhook";
    asks.then(|| conversion.at("/webhook/clientConfig").clone())
}
