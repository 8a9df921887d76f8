//! The strategy of the custom resources of one version.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::jsonpath::JsonPath;
use super::printer_columns::{PrinterColumn, printer_columns};
use super::schema_source::SchemaSource;
use super::{cel, custom_resource_validation, embedded_resource, list_type};
use kueue_lab_apimachinery::metadata_validation;
use kueue_lab_apimachinery::schema::go_format::go_text;
use kueue_lab_apimachinery::schema::{Schema, ValueType, defaulting};
use kueue_lab_apimachinery::strategy::rest_strategy::{FieldLabelError, Strategy};
use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;
use kueue_lab_apimachinery::strategy::table_column::{OBJECT_NAME, TableColumn};
use kueue_lab_field::{FieldError, FieldErrorKind, name_validation};

/// One version of a CustomResourceDefinition.
pub struct CrdVersion {
    /// API group.
    pub group: String,
    /// Version, such as `v1beta2`.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Printer columns after the name, with the JSONPaths of their values.
    pub columns: Vec<(TableColumn, String)>,
    /// JSONPaths of the fields that field selectors may use.
    pub selectable: Vec<String>,
    /// The paths of the scale subresource, if enabled.
    pub scale: Option<ScalePaths>,
    /// The schema.
    pub schema: SchemaSource,
}

/// The strategy of one version of a custom resource.
pub struct CustomResourceStrategy {
    version: CrdVersion,
    printer_columns: Vec<PrinterColumn>,
    selectable: Vec<(String, JsonPath)>,
}

impl CustomResourceStrategy {
    /// The strategy of a version.
    pub fn new(version: CrdVersion) -> Self {
        let selectable = version.selectable.iter();
        Self {
            printer_columns: printer_columns(&version.columns),
            selectable: selectable
                .filter_map(|p| Some((p.trim_start_matches('.').into(), JsonPath::parse(p).ok()?)))
                .collect(),
            version,
        }
    }

    fn root_schema(&self) -> &Arc<Schema> {
        self.version.schema.compiled()
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.version.group, self.version.version)
    }

    /// Validates that `apiVersion` and `kind` match the version.
    fn validate_type_meta(&self, object: &Value) -> Vec<FieldError> {
        let mut out = Vec::new();
        for (name, wanted) in [
            ("kind", self.version.kind.clone()),
            ("apiVersion", self.api_version()),
        ] {
            let given = object[name].as_str().unwrap_or_default();
            if given != wanted {
                out.push(FieldError::invalid(
                    name,
                    given,
                    format!("must be {wanted}"),
                ));
            }
        }
        out
    }

    /// Adds the errors of the CEL rules, or the error that they were not checked because of other
    /// errors.
    fn add_cel_errors(
        &self,
        mut errors: Vec<FieldError>,
        new: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let schema = self.root_schema();
        if !schema.has_validations {
            return errors;
        }
        let blocking = |e: &FieldError| {
            matches!(
                e.kind,
                FieldErrorKind::NotSupported
                    | FieldErrorKind::Required
                    | FieldErrorKind::TooLong
                    | FieldErrorKind::TooMany
                    | FieldErrorKind::TypeInvalid
            )
        };
        if errors.iter().any(blocking) {
            errors.push(FieldError::invalid(
                "",
                Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
            ));
        } else {
            errors.extend(cel::validate(schema, new, old, ""));
        }
        errors
    }

    /// Validates sets and map lists, unless the old object is invalid already.
    fn validate_list_types(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let schema = self.root_schema();
        let found = list_type::validate_list_sets_and_maps(schema, new);
        if found.is_empty() || !list_type::validate_list_sets_and_maps(schema, old).is_empty() {
            return Vec::new();
        }
        found
    }

    fn validate_scale(&self, object: &Value, status_only: bool) -> Vec<FieldError> {
        self.version
            .scale
            .as_ref()
            .map(|s| s.validate(object, status_only))
            .unwrap_or_default()
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_type_meta(new);
        if !errors.is_empty() {
            return errors;
        }

        errors.extend(metadata_validation::validate_custom_resource_meta_update(
            new, old,
        ));
        if let (Some(status), ValueType::Struct(value_type)) =
            (new.get("status"), &self.root_schema().value_type)
            && let Some(field) = value_type.field("status")
        {
            errors.extend(custom_resource_validation::validate(
                &field.schema,
                status,
                old.get("status"),
                "status",
            ));
        }
        errors.extend(self.validate_scale(new, true));
        errors.extend(self.validate_list_types(new, old));
        self.add_cel_errors(errors, new, Some(old))
    }
}

impl Strategy for CustomResourceStrategy {
    fn schema(&self) -> Option<Arc<Schema>> {
        Some(self.root_schema().clone())
    }

    fn set_defaults(&self, object: &mut Value) {
        defaulting::default(self.root_schema(), object);
    }

    fn prepare_for_subresource_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource != "status" {
            return;
        }
        // A status update changes no metadata except `managedFields`.
        let owners = new
            .get_mut("metadata")
            .and_then(|m| m.get_mut("managedFields"));
        let owners = owners.map(Value::take);
        let mut metadata = old["metadata"].clone();
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("managedFields");
            fields.extend(owners.map(|owners| ("managedFields".into(), owners)));
        }
        new["metadata"] = metadata;
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_type_meta(object);
        if !errors.is_empty() {
            return errors;
        }
        let schema = self.root_schema();
        errors.extend(metadata_validation::validate_custom_resource_meta(
            object,
            self.version.namespaced,
        ));
        errors.extend(custom_resource_validation::validate(
            schema, object, None, "",
        ));
        errors.extend(self.validate_scale(object, false));
        errors.extend(embedded_resource::validate(schema, object, ""));
        errors.extend(list_type::validate_list_sets_and_maps(schema, object));
        self.add_cel_errors(errors, object, None)
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_type_meta(new);
        if !errors.is_empty() {
            return errors;
        }
        let schema = self.root_schema();
        errors.extend(metadata_validation::validate_custom_resource_meta_update(
            new, old,
        ));
        errors.extend(custom_resource_validation::validate(
            schema,
            new,
            Some(old),
            "",
        ));
        errors.extend(self.validate_scale(new, false));
        errors.extend(embedded_resource::validate(schema, new, ""));
        errors.extend(self.validate_list_types(new, old));
        self.add_cel_errors(errors, new, Some(old))
    }

    fn validate_subresource_update(
        &self,
        subresource: &str,
        new: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        match subresource {
            "status" => self.validate_status(new, old),
            _ => self.validate_update(new, old),
        }
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let list = |o: &Value| {
            o["metadata"]["finalizers"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        };
        let before: HashSet<Value> = old.map(list).unwrap_or_default().into_iter().collect();
        let mut added: Vec<Value> = list(new);
        added.retain(|f| !before.contains(f));
        added.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        added.dedup();
        added
            .iter()
            .filter_map(Value::as_str)
            .flat_map(finalizer_warnings)
            .collect()
    }

    fn increments_generation(&self, new: &Value, old: &Value) -> bool {
        let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
            return false;
        };
        let rest = |(name, _): &(&String, &Value)| name.as_str() != "metadata";
        !new.iter().filter(rest).eq(old.iter().filter(rest))
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn scale_paths(&self) -> Option<ScalePaths> {
        self.version.scale.clone()
    }

    fn table_columns(&self) -> Vec<TableColumn> {
        let name = TableColumn {
            name: "Name".into(),
            column_type: "string",
            format: "name",
            description: OBJECT_NAME.into(),
            priority: 0,
        };
        let own = self.printer_columns.iter().map(|p| p.column.clone());
        std::iter::once(name).chain(own).collect()
    }

    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let own = self.printer_columns.iter().map(|p| p.cell(object, now));
        std::iter::once(object["metadata"]["name"].clone())
            .chain(own)
            .collect()
    }

    fn check_selectable_field(&self, path: &str) -> Result<(), FieldLabelError> {
        let known = matches!(path, "metadata.name")
            || path == "metadata.namespace" && self.version.namespaced
            || self.selectable.iter().any(|(name, _)| name == path);
        if known {
            Ok(())
        } else {
            Err(FieldLabelError::NotSupported(path.to_owned()))
        }
    }

    fn selectable_field_value(&self, object: &Value, path: &str) -> String {
        let selectable = &self.selectable;
        let found = selectable.iter().find(|(name, _)| name == path);
        let value = found.and_then(|(_, path)| path.find(object).first().copied());
        value
            .filter(|v| !v.is_null())
            .map(go_text)
            .unwrap_or_default()
    }
}

/// Warnings for the name of a finalizer.
fn finalizer_warnings(name: &str) -> Vec<String> {
    let shown = format!("metadata.finalizers: {name:?}: ");
    let mut out: Vec<String> = name_validation::qualified_name(name)
        .iter()
        .map(|why| format!("{shown}{why}"))
        .collect();
    let standard = ["orphan", "foregroundDeletion", "kubernetes"];
    if !name.contains('/') && !standard.contains(&name) {
        let path = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        out.push(format!(
            "{shown}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts \
             with other finalizer writers"
        ));
    }
    out
}
