//! How custom resources of one version behave.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde_json::Value;

use super::columns::{Printer, printers};
use super::jsonpath::Path;
use super::scale::Paths;
use super::{cel, embedded, lists, structural, validate};
use crate::field::{FieldError, FieldErrorKind};
use crate::kind::{Behaviour, Column};
use crate::kinds::meta;
use crate::schema::encode::go_text;
use crate::schema::{Schema, Shape, custom};

/// What the definition says of one version.
pub struct Version {
    /// API group.
    pub group: String,
    /// Such as `v1beta2`.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Columns of tables after the name, with the JSONPaths of their values.
    pub columns: Vec<(Column, String)>,
    /// JSONPaths of the fields that field selectors may name.
    pub selectable: Vec<String>,
    /// Where the scale subresource finds its numbers, if there is one.
    pub scale: Option<Paths>,
    /// Gives the `openAPIV3Schema`, as JSON, when it is first needed.
    pub schema: Arc<dyn Fn() -> Value + Send + Sync>,
}

/// One version of a custom resource.
pub struct Resource {
    version: Version,
    printers: Vec<Printer>,
    selectable: Vec<(String, Path)>,
    schema: OnceLock<Arc<Schema>>,
}

impl Resource {
    /// The behaviour of a version.
    pub fn new(version: Version) -> Self {
        let selectable = version.selectable.iter();
        Self {
            printers: printers(&version.columns),
            selectable: selectable
                .filter_map(|p| Some((p.trim_start_matches('.').into(), Path::parse(p).ok()?)))
                .collect(),
            schema: OnceLock::new(),
            version,
        }
    }

    fn root(&self) -> &Arc<Schema> {
        self.schema
            .get_or_init(|| Arc::new(structural::root(&(self.version.schema)())))
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.version.group, self.version.version)
    }

    /// Whether the object says it is what it is.
    fn type_meta(&self, object: &Value) -> Vec<FieldError> {
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

    /// Adds the rules in CEL, or that they were not looked at.
    fn finish(
        &self,
        mut errors: Vec<FieldError>,
        new: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let schema = self.root();
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
            errors.extend(cel::faults(schema, new, old, ""));
        }
        errors
    }

    /// Duplicates, unless there were some before.
    fn duplicates(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let schema = self.root();
        let found = lists::duplicates(schema, new);
        if found.is_empty() || !lists::duplicates(schema, old).is_empty() {
            return Vec::new();
        }
        found
    }

    fn scale_faults(&self, object: &Value, status_only: bool) -> Vec<FieldError> {
        self.version
            .scale
            .as_ref()
            .map(|s| s.faults(object, status_only))
            .unwrap_or_default()
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.type_meta(new);
        if !errors.is_empty() {
            return errors;
        }

        errors.extend(meta::validate_custom_update(new, old));
        if let (Some(status), Shape::Struct(shape)) = (new.get("status"), &self.root().shape)
            && let Some(field) = shape.field("status")
        {
            errors.extend(validate::faults(
                &field.schema,
                status,
                old.get("status"),
                "status",
            ));
        }
        errors.extend(self.scale_faults(new, true));
        errors.extend(self.duplicates(new, old));
        self.finish(errors, new, Some(old))
    }
}

impl Behaviour for Resource {
    fn schema(&self) -> Option<Arc<Schema>> {
        Some(self.root().clone())
    }

    fn default(&self, object: &mut Value) {
        custom::default(self.root(), object);
    }

    fn prepare_subresource(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource != "status" {
            return;
        }
        // of the metadata only the record of owners may change with the status
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
        let mut errors = self.type_meta(object);
        if !errors.is_empty() {
            return errors;
        }
        let schema = self.root();
        errors.extend(meta::validate_custom(object, self.version.namespaced));
        errors.extend(validate::faults(schema, object, None, ""));
        errors.extend(self.scale_faults(object, false));
        errors.extend(embedded::faults(schema, object, ""));
        errors.extend(lists::duplicates(schema, object));
        self.finish(errors, object, None)
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.type_meta(new);
        if !errors.is_empty() {
            return errors;
        }
        let schema = self.root();
        errors.extend(meta::validate_custom_update(new, old));
        errors.extend(validate::faults(schema, new, Some(old), ""));
        errors.extend(self.scale_faults(new, false));
        errors.extend(embedded::faults(schema, new, ""));
        errors.extend(self.duplicates(new, old));
        self.finish(errors, new, Some(old))
    }

    fn validate_subresource(&self, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
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
        let before = old.map(list).unwrap_or_default();
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

    fn raises_generation(&self, new: &Value, old: &Value) -> bool {
        let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
            return false;
        };
        let rest = |(name, _): &(&String, &Value)| name.as_str() != "metadata";
        !new.iter().filter(rest).eq(old.iter().filter(rest))
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn scale(&self) -> Option<Paths> {
        self.version.scale.clone()
    }

    fn columns(&self) -> Vec<Column> {
        let name = Column {
            name: "Name".into(),
            kind: "string",
            format: "name",
            description: NAME.into(),
            priority: 0,
        };
        let own = self.printers.iter().map(|p| p.column.clone());
        std::iter::once(name).chain(own).collect()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let own = self.printers.iter().map(|p| p.cell(object, now));
        std::iter::once(object["metadata"]["name"].clone())
            .chain(own)
            .collect()
    }

    fn selectable(&self, path: &str) -> Result<(), String> {
        let known = matches!(path, "metadata.name")
            || path == "metadata.namespace" && self.version.namespaced
            || self.selectable.iter().any(|(name, _)| name == path);
        if known {
            Ok(())
        } else {
            Err(format!("field label not supported: {path}"))
        }
    }

    fn field(&self, object: &Value, path: &str) -> String {
        let selectable = &self.selectable;
        let found = selectable.iter().find(|(name, _)| name == path);
        let value = found.and_then(|(_, path)| path.find(object).first().copied());
        value
            .filter(|v| !v.is_null())
            .map(go_text)
            .unwrap_or_default()
    }
}

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What is unfortunate about a finalizer's name.
fn finalizer_warnings(name: &str) -> Vec<String> {
    let shown = format!("metadata.finalizers: {name:?}: ");
    let mut out: Vec<String> = meta::names::qualified_name(name)
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
