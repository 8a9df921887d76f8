//! REST strategy of a built-in kind as a struct of functions with defaults.

use jiff::Timestamp;
use serde_json::Value;

use crate::printers::{self, TablePrinter};
use kueue_lab_apimachinery::metadata_validation::{self, object_names};
use kueue_lab_apimachinery::strategy::rest_strategy::{FieldLabelError, Strategy};
use kueue_lab_apimachinery::strategy::table_column::TableColumn;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

/// REST strategy of a built-in kind. Start from [`BuiltinStrategy::DEFAULT`].
#[derive(Clone, Copy)]
pub(crate) struct BuiltinStrategy {
    /// Validates `metadata.name`.
    pub validate_name: object_names::ValidateNameFn,
    /// The kind; set by `strategy_for_kind`.
    pub kind: &'static str,
    /// Whether the resource is namespaced; set by `strategy_for_kind`.
    pub namespaced: bool,
    /// Table printer of the kind; set by `strategy_for_kind`.
    pub printer: TablePrinter,
    /// See [`Strategy::set_defaults`].
    pub set_defaults: fn(&mut Value),
    /// See [`Strategy::prepare_for_create`].
    pub prepare_for_create: fn(&mut Value),
    /// See [`Strategy::prepare_for_update`].
    pub prepare_for_update: fn(&mut Value, &Value),
    /// See [`Strategy::prepare_for_subresource_update`].
    pub prepare_for_subresource_update: fn(&str, &mut Value, &Value),
    /// Validates a new object except its metadata.
    pub validate_create: fn(&Value) -> Vec<FieldError>,
    /// Validates an update except its metadata.
    pub validate_update: fn(&Value, &Value) -> Vec<FieldError>,
    /// See [`Strategy::validate_subresource_update`].
    pub validate_subresource_update: fn(&str, &Value, &Value) -> Vec<FieldError>,
    /// See [`Strategy::warnings`].
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
    /// Top-level fields whose changes increment `metadata.generation`; empty for kinds without a
    /// generation.
    pub generation_fields: &'static [&'static str],
    /// Whether annotation changes also increment the generation.
    pub generation_counts_annotations: bool,
    /// See [`Strategy::keeps_status_on_create`].
    pub keeps_status_on_create: bool,
    /// See [`Strategy::allow_create_on_update`].
    pub allow_create_on_update: bool,
    /// See [`Strategy::orphans_dependents_by_default`].
    pub orphans_dependents_by_default: bool,
    /// Selectable fields besides `metadata.name` and `metadata.namespace`.
    pub selectable_fields: SelectableFields,
}

/// A selectable field: its label, the JSON pointer of its value and the default for an absent
/// value.
pub(crate) type SelectableField = (&'static str, &'static str, &'static str);

/// Selectable fields of a kind and the error for unknown field labels.
#[derive(Clone, Copy)]
pub(crate) enum SelectableFields {
    /// No fields besides name and namespace.
    None,
    /// These fields; unknown labels return `field label not supported`.
    Some(&'static [SelectableField]),
    /// These fields; the error for unknown labels includes the kind.
    Named(&'static [SelectableField], &'static str),
}

impl SelectableFields {
    fn list(self) -> &'static [SelectableField] {
        match self {
            Self::None => &[],
            Self::Some(list) | Self::Named(list, _) => list,
        }
    }
}

impl BuiltinStrategy {
    /// Default strategy: no defaulting, no validation besides metadata, no generation.
    pub(crate) const DEFAULT: Self = Self {
        validate_name: object_names::name_is_dns_subdomain,
        kind: "",
        namespaced: false,
        printer: printers::DEFAULT,
        set_defaults: |_| {},
        prepare_for_create: |_| {},
        prepare_for_update: |_, _| {},
        prepare_for_subresource_update: |_, _, _| {},
        validate_create: |_| Vec::new(),
        validate_update: |_, _| Vec::new(),
        validate_subresource_update: |_, _, _| Vec::new(),
        warnings: |_, _| Vec::new(),
        generation_fields: &[],
        generation_counts_annotations: false,
        keeps_status_on_create: false,
        allow_create_on_update: false,
        orphans_dependents_by_default: false,
        selectable_fields: SelectableFields::None,
    };
}

impl Strategy for BuiltinStrategy {
    fn set_defaults(&self, object: &mut Value) {
        (self.set_defaults)(object);
    }

    fn prepare_for_create(&self, object: &mut Value) {
        (self.prepare_for_create)(object);
    }

    fn prepare_for_update(&self, new: &mut Value, old: &Value) {
        (self.prepare_for_update)(new, old);
    }

    fn prepare_for_subresource_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        (self.prepare_for_subresource_update)(subresource, new, old);
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors =
            metadata_validation::validate_object_meta(object, self.namespaced, self.validate_name);
        errors.extend((self.validate_create)(object));
        if errors.is_empty() {
            errors = metadata_validation::validate_common(object, self.namespaced);
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = metadata_validation::validate_common_update(new, old, self.namespaced);
        errors.extend(metadata_validation::validate_object_meta_update(new, old));
        errors.extend((self.validate_update)(new, old));
        errors
    }

    fn validate_subresource_update(&self, name: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = metadata_validation::validate_common_update(new, old, self.namespaced);
        errors.extend(metadata_validation::validate_object_meta_update(new, old));
        errors.extend((self.validate_subresource_update)(name, new, old));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        (self.warnings)(new, old)
    }

    fn has_generation(&self) -> bool {
        !self.generation_fields.is_empty()
    }

    fn increments_generation(&self, new: &Value, old: &Value) -> bool {
        let annotations = "/metadata/annotations";
        self.generation_fields
            .iter()
            .any(|field| new.get(field) != old.get(field))
            || self.generation_counts_annotations && new.at(annotations) != old.at(annotations)
    }

    fn keeps_status_on_create(&self) -> bool {
        self.keeps_status_on_create
    }

    fn allow_create_on_update(&self) -> bool {
        self.allow_create_on_update
    }

    fn orphans_dependents_by_default(&self) -> bool {
        self.orphans_dependents_by_default
    }

    fn table_columns(&self) -> Vec<TableColumn> {
        self.printer.columns(self.kind)
    }

    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        (self.printer.cells)(object, now)
    }

    fn check_selectable_field(&self, path: &str) -> Result<(), FieldLabelError> {
        let own = matches!(path, "metadata.name" | "metadata.namespace");
        if own || self.selectable_fields.list().iter().any(|f| f.0 == path) {
            return Ok(());
        }
        let label = path.to_owned();
        Err(match self.selectable_fields {
            SelectableFields::None => FieldLabelError::OnlyMetadata(label),
            SelectableFields::Some(_) => FieldLabelError::NotSupported(label),
            SelectableFields::Named(_, kind) => FieldLabelError::NotSupportedFor { label, kind },
        })
    }

    fn selectable_field_value(&self, object: &Value, path: &str) -> String {
        // A field label may occur more than once: the first pointer with a value is used.
        let places = self.selectable_fields.list().iter().filter(|f| f.0 == path);
        let mut absent = "";
        for (_, pointer, default) in places {
            match kueue_lab_apimachinery::strategy::table_cells::scalar(object.at(pointer)) {
                text if text.is_empty() => absent = default,
                text => return text,
            }
        }
        absent.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_for_selectors() {
        let rules = BuiltinStrategy {
            selectable_fields: SelectableFields::Some(&[
                ("spec.unschedulable", "/spec/unschedulable", "false"),
                ("source", "/source/component", ""),
                ("source", "/reportingComponent", ""),
            ]),
            ..BuiltinStrategy::DEFAULT
        };
        let o = json!({"spec": {}, "source": {}, "reportingComponent": "r"});
        assert_eq!(
            rules.selectable_field_value(&o, "spec.unschedulable"),
            "false"
        );
        assert_eq!(rules.selectable_field_value(&o, "source"), "r");
        assert_eq!(
            rules.selectable_field_value(
                &json!({"spec": {"unschedulable": true}}),
                "spec.unschedulable"
            ),
            "true"
        );
        assert!(
            rules.check_selectable_field("metadata.name").is_ok()
                && rules.check_selectable_field("source").is_ok()
        );
        assert_eq!(
            rules.check_selectable_field("x").unwrap_err().to_string(),
            "field label not supported: x"
        );
        let plain = BuiltinStrategy::DEFAULT
            .check_selectable_field("spec.replicas")
            .unwrap_err()
            .to_string();
        assert!(
            plain.starts_with("\"spec.replicas\" is not a known field selector"),
            "{plain}"
        );
    }
}
