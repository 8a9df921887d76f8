//! Conversion between the storage version and the served versions.

use std::sync::Arc;

use kueue_lab_clock::Entropy;
use serde_json::Value;

use super::webhook_converter::WebhookConverter;
use crate::plugins::Plugins;
use crate::registry::Registry;
use crate::registry::ServedResource;
use crate::registry::object_reader::ObjectReader;
use crate::registry::stored_objects::StoredObjects;
use crate::storage::Store;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_apimachinery::schema::defaulting::default;
use kueue_lab_host::HostAddresses;
use kueue_lab_json::ValueExt;
use kueue_lab_kinds::conversion::convert_builtin;

/// Converts objects between the storage version and the served versions: by plugin, by the
/// conversion webhook of the definition, or by built-in conversion.
pub(crate) struct VersionConverter<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) store: &'a Store,
    pub(crate) host_addresses: &'a HostAddresses,
    pub(crate) plugins: &'a Plugins,
    pub(crate) webhooks: &'a WebhookConverter,
    pub(crate) entropy: &'a Entropy,
}

impl VersionConverter<'_> {
    /// The object converted to the version of `to`.
    pub(crate) fn converted_to(
        &self,
        to: &ServedResource,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let mut object = object.clone();
        if object["apiVersion"] != to.api_version.as_str() {
            self.to_served_version(to, &mut object)?;
        }
        Ok(object)
    }

    /// Converts an object, usually from the storage version, to the version of `to`.
    pub(crate) fn to_served_version(
        &self,
        to: &ServedResource,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        if to.custom.is_some() && object["apiVersion"] == to.storage_api_version.as_str() {
            prune_and_default(self.storage_schema(to), object);
        }
        self.convert_to_version(to, &to.api_version, object)?;
        if !to.is_storage_version() || to.custom.is_none() {
            // Converted objects match the schema; decoding only normalizes unset fields.
            let schema = to.schema();
            let _ = schema.map(|schema| decode(&schema, object, DecodeSource::Json));
        }
        Ok(())
    }

    /// Converts an object to the storage version.
    pub(crate) fn to_storage_version(
        &self,
        served: &ServedResource,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        if served.is_storage_version() {
            return Ok(());
        }
        self.convert_to_version(served, &served.storage_api_version, object)?;
        if served.custom.is_some() {
            prune_and_default(self.storage_schema(served), object);
        }
        Ok(())
    }

    /// The schema of the storage version of a custom resource; `None` when it is not served.
    fn storage_schema(&self, served: &ServedResource) -> Option<Arc<Schema>> {
        let kind = &served.kind;
        if served.is_storage_version() {
            return served.schema();
        }
        self.registry
            .find(&kind.group, &kind.storage_version, &kind.plural)?
            .schema()
    }

    fn convert_to_version(
        &self,
        served: &ServedResource,
        api_version: &str,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        let kind = &served.kind;
        let converter = self
            .plugins
            .converter()
            .filter(|c| c.handles(&kind.group, &kind.kind));
        match converter {
            Some(converter) => converter.convert(object, api_version).map_err(|reason| {
                ApiError::internal(format!(
                    "conversion of {} to {api_version} failed: {reason}",
                    kind.kind
                ))
            }),
            None => match self.conversion_webhook(served) {
                Some(webhook) => {
                    let objects = std::slice::from_mut(object);
                    self.convert_by_webhook(&webhook, &kind.kind, objects, api_version)
                }
                None => {
                    convert_builtin(object, api_version);
                    Ok(())
                }
            },
        }
    }

    fn stored(&self) -> StoredObjects<'_> {
        StoredObjects {
            registry: self.registry,
            store: self.store,
            host_addresses: self.host_addresses,
        }
    }

    /// Converts the objects of a list to the version of `to` in one call of the conversion webhook.
    /// `None` if the kind has none: its objects are converted one by one.
    ///
    /// # Errors
    /// The conversion of an object fails.
    pub(crate) fn list_to_served_version(
        &self,
        to: &ServedResource,
        mut objects: Vec<Value>,
    ) -> Result<Option<Vec<Value>>, ApiError> {
        let kind = &to.kind;
        let has_plugin = self
            .plugins
            .converter()
            .is_some_and(|c| c.handles(&kind.group, &kind.kind));
        let Some(webhook) = self.conversion_webhook(to).filter(|_| !has_plugin) else {
            return Ok(None);
        };
        let storage_schema = self.storage_schema(to);
        for object in &mut objects {
            if object["apiVersion"] == to.storage_api_version.as_str() {
                prune_and_default(storage_schema.clone(), object);
            }
        }
        self.convert_by_webhook(&webhook, &kind.list_kind, &mut objects, &to.api_version)?;
        if let Some(schema) = to.schema() {
            for object in &mut objects {
                let _ = decode(&schema, object, DecodeSource::Json);
            }
        }
        Ok(Some(objects))
    }

    fn convert_by_webhook(
        &self,
        webhook: &Value,
        kind: &str,
        objects: &mut [Value],
        api_version: &str,
    ) -> Result<(), ApiError> {
        let uid = self.entropy.uid();
        let converted =
            self.webhooks
                .convert(&self.stored(), webhook, kind, objects, api_version, &uid);
        converted.map_err(|error| ApiError::internal(error.to_string()))
    }

    /// The conversion webhook of a custom resource, if its definition has one.
    fn conversion_webhook(&self, served: &ServedResource) -> Option<Value> {
        let name = &served.custom.as_ref()?.definition.name;
        let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let definition = self.stored().get(group, plural, "", name)?;
        let conversion = definition.at("/spec/conversion");
        let uses_webhook = conversion.text("/strategy") == "Webhook";
        uses_webhook.then(|| conversion.at("/webhook").clone())
    }
}

/// Prunes unknown fields of a custom resource and applies defaults.
fn prune_and_default(schema: Option<Arc<Schema>>, object: &mut Value) {
    if let Some(schema) = schema {
        let _ = decode(&schema, object, DecodeSource::Json);
        default(&schema, object);
    }
}
