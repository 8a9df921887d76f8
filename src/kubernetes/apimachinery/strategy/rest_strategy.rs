//! [`Strategy`]: the strategy of one kind, as `rest.RESTCreateStrategy` and
//! `rest.RESTUpdateStrategy`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::scale_paths::ScalePaths;
use super::table_column::TableColumn;
use crate::schema::Schema;
use kueue_lab_field::FieldError;

/// A field label that field selectors do not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldLabelError {
    /// The kind has only the fields of all kinds.
    #[error("{0:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    OnlyMetadata(String),
    /// The kind does not have this one.
    #[error("field label not supported: {0}")]
    NotSupported(String),
    /// As [`Self::NotSupported`], with the kind.
    #[error("field label {label:?} not supported for {kind}")]
    NotSupportedFor {
        /// The field label.
        label: String,
        /// The kind.
        kind: &'static str,
    },
}

/// The kind-specific part of create, update and table output. Defaults of the methods fit kinds
/// without special behaviour.
///
/// Objects are decoded and free of unknown fields. A create calls `set_defaults`, fills the system
/// fields of the metadata (uid, creationTimestamp, name), runs admission, then calls
/// `prepare_for_create` and `validate_create`. An update calls `set_defaults`, runs admission, then
/// calls `prepare_for_update` (or `prepare_for_subresource_update`) and `validate_update` (or
/// `validate_subresource_update`). The validation methods include the metadata.
pub trait Strategy: Send + Sync {
    /// The structural schema of kinds that build it on first use.
    fn schema(&self) -> Option<Arc<Schema>> {
        None
    }

    /// Sets defaults that the schema does not contain.
    fn set_defaults(&self, _object: &mut Value) {}

    /// Clears or sets fields that clients cannot set on create. The status is already removed if
    /// the kind has a status subresource; uid and creation timestamp are set.
    fn prepare_for_create(&self, _object: &mut Value) {}

    /// Restores fields that an update must not change. The server has already restored `status`.
    fn prepare_for_update(&self, _new: &mut Value, _old: &Value) {}

    /// Restores fields that an update of `subresource` must not change. For `status` the server has
    /// already restored all fields but status and `metadata`; for other subresources it has
    /// restored none.
    fn prepare_for_subresource_update(&self, _subresource: &str, _new: &mut Value, _old: &Value) {}

    /// Field errors of a create.
    fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Field errors of an update of the main resource.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Field errors of an update of a subresource that uses the kind itself, such as `status`.
    fn validate_subresource_update(
        &self,
        _subresource: &str,
        _new: &Value,
        _old: &Value,
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// Warnings returned to the client of a create or update.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Whether objects of this kind have `metadata.generation`.
    fn has_generation(&self) -> bool {
        true
    }

    /// Whether an update increments `metadata.generation`; called only if
    /// [`has_generation`](Strategy::has_generation) is true.
    fn increments_generation(&self, new: &Value, old: &Value) -> bool {
        new.get("spec") != old.get("spec")
    }

    /// Whether a create keeps the status although the kind has a status subresource.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Whether an update (PUT) of a missing object creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Whether an update (PUT) without resourceVersion is allowed.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// The paths of the scale subresource if they differ from `.spec.replicas`, `.status.replicas`
    /// and `.spec.selector`.
    fn scale_paths(&self) -> Option<ScalePaths> {
        None
    }

    /// Whether a delete without propagation policy orphans dependents.
    fn orphans_dependents_by_default(&self) -> bool {
        false
    }

    /// Columns of `Table` output.
    fn table_columns(&self) -> Vec<TableColumn>;

    /// Cells of one object in the order of [`table_columns`](Strategy::table_columns); ages are
    /// relative to `now`.
    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;

    /// Validates that field selectors support `path`.
    ///
    /// # Errors
    /// They do not.
    fn check_selectable_field(&self, path: &str) -> Result<(), FieldLabelError> {
        match path {
            "metadata.name" | "metadata.namespace" => Ok(()),
            other => Err(FieldLabelError::OnlyMetadata(other.to_owned())),
        }
    }

    /// The value of a selectable field; empty if unset. The server handles `metadata.name` and
    /// `metadata.namespace` itself.
    fn selectable_field_value(&self, _object: &Value, _path: &str) -> String {
        String::new()
    }
}
