//! Validation of CustomResourceDefinitions, as `ValidateCustomResourceDefinition`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::api_approval::validate_api_approval;
use super::{conversion, names, versions};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Adds the storage version to `status.storedVersions`.
pub fn add_stored_version(definition: &mut Value) {
    let versions = definition.list("/spec/versions");
    let storage = versions.iter().find(|v| v.flag("/storage"));
    let Some(storage) = storage.map(|v| v.at("/name").clone()) else {
        return;
    };
    let status = definition.object_mut("status");
    match status
        .get_mut("storedVersions")
        .and_then(Value::as_array_mut)
    {
        Some(all) if all.contains(&storage) => {}
        Some(all) => all.push(storage),
        None => status.set_or_remove("storedVersions", Some(json!([storage]))),
    }
}

/// Field errors of a create.
pub fn validate_create(definition: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let (spec, name) = (definition.at("/spec"), definition.name());
    let wanted = format!("{}.{}", spec.text("/names/plural"), spec.text("/group"));
    if name != wanted {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        errors.invalid(&FieldPath::root("metadata").child("name"), name, detail);
    }
    check(definition, None, &mut errors);
    validate_api_approval(definition, None, &mut errors);
    validate_preserve_unknown_fields(definition, None, &mut errors);
    errors.0
}

/// Field errors of an update.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    check(new, Some(old), &mut errors);
    validate_api_approval(new, Some(old), &mut errors);
    validate_preserve_unknown_fields(new, Some(old), &mut errors);
    errors.0
}

/// Field errors of a status update.
pub fn validate_status_update(new: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let path = FieldPath::root("status");
    names::check(
        new.at("/status/acceptedNames"),
        &path.child("acceptedNames"),
        &mut errors,
    );
    errors.0
}

pub(crate) fn check(new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let (root, status) = (FieldPath::root("spec"), FieldPath::root("status"));
    let spec = new.at("/spec");
    versions::check(spec, old.map(|o| o.at("/spec")), &root, errors);
    conversion::check(spec, old, &root.child("conversion"), errors);
    if let Some(old) = old {
        immutable(spec, old, &root, errors);
    }
    names::check(
        new.at("/status/acceptedNames"),
        &status.child("acceptedNames"),
        errors,
    );
    validate_stored_versions(new, &status.child("storedVersions"), errors);
}

/// Whether the condition `Established` is true.
pub(crate) fn is_established(definition: &Value) -> bool {
    definition.is_condition_true("Established")
}

pub(crate) fn immutable(spec: &Value, old: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let before = old.at("/spec");
    let names = path.child("names");
    if is_established(old) {
        errors.immutable(&path.child("scope"), spec.at("/scope"), before.at("/scope"));
        let (new, old) = (spec.at("/names/kind"), before.at("/names/kind"));
        errors.immutable(&names.child("kind"), new, old);
    }
    errors.immutable(&path.child("group"), spec.at("/group"), before.at("/group"));
    let (new, old) = (spec.at("/names/plural"), before.at("/names/plural"));
    errors.immutable(&names.child("plural"), new, old);
}

fn validate_stored_versions(definition: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let stored = definition.at("/status/storedVersions");
    let names = definition.list("/status/storedVersions");
    if names.is_empty() {
        errors.invalid(
            path,
            stored.clone(),
            "must have at least one stored version",
        );
        return;
    }
    let versions = definition.list("/spec/versions");
    let stored_names: HashSet<&Value> = names.iter().collect();
    let served: HashSet<&Value> = versions.iter().map(|v| v.at("/name")).collect();
    for version in versions.iter().filter(|v| v.flag("/storage")) {
        if !stored_names.contains(version.at("/name")) {
            let detail = format!("must have the storage version {}", version.text("/name"));
            errors.invalid(path, stored.clone(), detail);
        }
    }
    for (i, name) in names.iter().enumerate() {
        if !served.contains(name) {
            let text = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {text} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {text} and removes {text} from status.storedVersions"
            );
            errors.invalid(&path.index(i), text, detail);
        }
    }
}

fn validate_preserve_unknown_fields(new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let field = "/spec/preserveUnknownFields";
    if new.flag(field) && !old.is_some_and(|o| o.flag(field)) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.invalid(
            &FieldPath::root("spec").child("preserveUnknownFields"),
            true,
            detail,
        );
    }
}
