//! Which objects a list, watch or collection delete speaks of.

use std::sync::Arc;

use super::call::{Call, key};
use super::view::View;
use crate::request::{FieldSelector, LabelSelector};
use crate::status::ApiError;
use crate::store::Object;

/// A namespace, and selectors on labels and fields.
pub(super) struct Selection {
    view: View,
    prefix: String,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// What the query of a call selects; a name in the path counts as a field selector.
    pub(super) fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        let namespace = call.namespace();
        let labels = LabelSelector::parse(call.query.text("labelSelector"))?;
        let mut fields = FieldSelector::parse(call.query.text("fieldSelector"))?;
        for term in fields.terms() {
            call.served
                .kind
                .behaviour
                .selectable(&term.field)
                .map_err(ApiError::bad_request)?;
        }
        if !call.path.name.is_empty() {
            fields = by_name(fields, &call.path.name)?;
        }
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            format!("{namespace}/")
        };
        Ok(Self {
            view: call.view.clone(),
            prefix,
            labels,
            fields,
        })
    }

    /// What the keys of the objects start with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The one key that can be selected, where the selectors say so.
    pub(super) fn single(&self) -> Option<String> {
        let name = self.fields.exact("metadata.name")?;
        let namespace = match self.prefix.strip_suffix('/') {
            Some(namespace) => namespace,
            None if self.view.served.kind.namespaced => self.fields.exact("metadata.namespace")?,
            None => "",
        };
        Some(key(namespace, name))
    }

    /// Whether every object in the place is selected.
    pub(super) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is selected.
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
                        value = Some(self.view.decoded(object)?);
                    }
                    let behaviour = &self.view.served.kind.behaviour;
                    value
                        .as_ref()
                        .is_some_and(|v| behaviour.field(v, field) == term.value)
                }
            };
            if equal != term.equal {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn by_name(fields: FieldSelector, name: &str) -> Result<FieldSelector, ApiError> {
    if fields.is_empty() {
        return FieldSelector::parse(&format!("metadata.name={name}"));
    }
    if fields.exact("metadata.name") == Some(name) {
        return Ok(fields);
    }
    Err(ApiError::bad_request(
        "fieldSelector metadata.name doesn't match requested name",
    ))
}
