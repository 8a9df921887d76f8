//! What is particular to one kind, as `rest.RESTCreateStrategy` and `rest.RESTUpdateStrategy`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::scale_paths::ScalePaths;
use super::table_column::TableColumn;
use crate::apimachinery::field_error::FieldError;
use crate::schema::Schema;

/// What is particular to a kind. Every method has the answer of a plain object as its default.
///
/// Objects arrive decoded, with unknown fields handled. The server calls, for a create: `set_defaults`,
/// metadata system fields (uid, creationTimestamp, name), admission, `prepare_for_create`,
/// `validate_create`; for an update: `set_defaults`, admission, `prepare_for_update` (or
/// `prepare_for_subresource_update`), `validate_object_meta_update` (or `validate_subresource_update`). The validating methods also
/// check metadata.
pub trait Strategy: Send + Sync {
    /// The structural schema, of kinds that work it out when first asked.
    fn schema(&self) -> Option<Arc<Schema>> {
        None
    }

    /// Fills defaults that a schema cannot express.
    fn set_defaults(&self, _object: &mut Value) {}

    /// Clears or sets what a client may not choose at creation; the status is already removed when
    /// the kind has a status subresource, the uid and the creation time are set.
    fn prepare_for_create(&self, _object: &mut Value) {}

    /// Keeps what an update may not change. The server has already restored `status_subresource`.
    fn prepare_for_update(&self, _new: &mut Value, _old: &Value) {}

    /// Keeps what an update through `validate_subresource_update` may not change. For `status_subresource` the server has
    /// already restored everything but status and `metadata`; for others nothing is restored.
    fn prepare_for_subresource_update(&self, _subresource: &str, _new: &mut Value, _old: &Value) {}

    /// Field errors of a new object.
    fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Field errors of a change through the main resource.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Field errors of a change through a subresource that speaks the kind itself, such as `status_subresource`.
    fn validate_subresource_update(
        &self,
        _subresource: &str,
        _new: &Value,
        _old: &Value,
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// Warnings for the client of a create or update.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Whether objects of this kind carry `metadata.generation`.
    fn has_generation(&self) -> bool {
        true
    }

    /// Whether a change raises `metadata.generation`; only asked where [`Strategy::has_generation`].
    fn increments_generation(&self, new: &Value, old: &Value) -> bool {
        new.get("spec") != old.get("spec")
    }

    /// Whether a new object may come with a status, though there is a status subresource.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Whether a PUT of an object that does not exist creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Whether a PUT without a resourceVersion replaces whatever is there.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// Where objects keep what the scale subresource speaks of, where that is not
    /// `.spec.replicas`, `.status.replicas` and `.spec.selector`.
    fn scale_paths(&self) -> Option<ScalePaths> {
        None
    }

    /// Whether dependents are kept when a delete does not say what to do with them.
    fn orphans_dependents_by_default(&self) -> bool {
        false
    }

    /// Columns of the `Table` form.
    fn table_columns(&self) -> Vec<TableColumn>;

    /// Cells of one object, in the order of [`Strategy::columns`]; `now` is for ages.
    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;

    /// Whether a field selector may name `path`.
    ///
    /// # Errors
    /// The sentence that says it may not.
    fn check_selectable_field(&self, path: &str) -> Result<(), String> {
        match path {
            "metadata.name" | "metadata.namespace" => Ok(()),
            other => Err(format!(
                "{other:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )),
        }
    }

    /// The value of a field selector's field; empty where the object has none. `metadata.name` and
    /// `metadata.namespace` are handled by the server.
    fn selectable_field_value(&self, _object: &Value, _path: &str) -> String {
        String::new()
    }
}
