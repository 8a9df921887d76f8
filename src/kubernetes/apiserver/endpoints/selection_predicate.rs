//! Selection of objects by a list, watch or deletecollection.

use std::sync::Arc;

use super::request_context::RequestContext;
use super::response_transformer::ResponseTransformer;
use crate::storage::key::storage_key;
use crate::storage::{Object, WatchScope};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::field_selector::FieldSelector;
use kueue_lab_apimachinery::label_selector::LabelSelector;

/// Namespace, label selector and field selector.
pub(super) struct SelectionPredicate {
    transformer: ResponseTransformer,
    prefix: String,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl SelectionPredicate {
    /// The selection of a request; a name in the path acts as a `metadata.name` field selector.
    pub(super) fn from_request(call: &RequestContext<'_>) -> Result<Self, ApiError> {
        let namespace = call.namespace();
        let labels = LabelSelector::parse(call.query.text("labelSelector"))?;
        let mut fields = FieldSelector::parse(call.query.text("fieldSelector"))?;
        for term in fields.terms() {
            call.served
                .kind
                .strategy
                .check_selectable_field(&term.field)
                .map_err(|error| ApiError::bad_request(error.to_string()))?;
        }
        if !call.path.name.is_empty() {
            fields = with_name(fields, &call.path.name)?;
        }
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            format!("{namespace}/")
        };
        Ok(Self {
            transformer: call.transformer.clone(),
            prefix,
            labels,
            fields,
        })
    }

    /// The key prefix of the selected objects.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The only key that can match, if the selectors determine one.
    pub(super) fn matches_single(&self) -> Option<String> {
        let name = self.fields.requires_exact_match("metadata.name")?;
        let namespace = match self.prefix.strip_suffix('/') {
            Some(namespace) => namespace,
            None if self.transformer.served.kind.namespaced => {
                self.fields.requires_exact_match("metadata.namespace")?
            }
            None => "",
        };
        Some(storage_key(namespace, name))
    }

    /// The smallest scope of a watch that contains all objects that can match.
    pub(super) fn watch_scope(&self) -> WatchScope {
        match (self.matches_single(), self.prefix.strip_suffix('/')) {
            (Some(key), _) => WatchScope::Object(key),
            (None, Some(namespace)) => WatchScope::Namespace(namespace.to_owned()),
            (None, None) => WatchScope::All,
        }
    }

    /// Whether the selection is unrestricted within its key prefix.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object matches.
    pub(super) fn matches(&self, object: &Arc<Object>) -> Result<bool, ApiError> {
        if !object.key().starts_with(&self.prefix) || !self.labels.matches(|k| object.label(k)) {
            return Ok(false);
        }
        if self.fields.is_empty() {
            return Ok(true);
        }
        let (namespace, name) = object.key().rsplit_once('/').unwrap_or(("", object.key()));
        let mut value = None;
        for term in self.fields.terms() {
            let equal = match term.field.as_str() {
                "metadata.name" => term.value == name,
                "metadata.namespace" => term.value == namespace,
                field => {
                    if value.is_none() {
                        value = Some(self.transformer.decoded(object)?);
                    }
                    let behaviour = &self.transformer.served.kind.strategy;
                    value
                        .as_ref()
                        .is_some_and(|v| behaviour.selectable_field_value(v, field) == term.value)
                }
            };
            if equal != term.equal {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn with_name(fields: FieldSelector, name: &str) -> Result<FieldSelector, ApiError> {
    if fields.is_empty() {
        return FieldSelector::parse(&format!("metadata.name={name}"));
    }
    if fields.requires_exact_match("metadata.name") == Some(name) {
        return Ok(fields);
    }
    Err(ApiError::bad_request(
        "fieldSelector metadata.name doesn't match requested name",
    ))
}
