//! CustomResourceDefinition objects themselves: what is filled in for them, and whether they are
//! sound.
//!
//! Error texts are those of a real server, which checks an internal form of the object: what all
//! versions have in common stands once, above them (`spec.validation` instead of
//! `spec.versions[i].schema`), and offending values are shown in Go's names.

mod conversion;
mod defaults;
mod go_regexp_error;
mod internal_version;
mod is_structural;
mod names;
mod openapi_schema;
mod schema_accessors;
mod schema_path;
mod type_check;
mod validation_rules;
mod versions;

use serde_json::{Value, json};

use super::formats;
use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_error::FieldError;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::value_ext::{ValueExt, ValueMutExt};

/// Fills in what a definition leaves out.
pub fn set_defaults(definition: &mut Value) {
    let spec = definition.object_mut("spec");
    let names = spec.object_mut("names");
    let kind = names.text("/kind").to_string();
    if names.text("/singular").is_empty() && !kind.is_empty() {
        names.set_or_remove("singular", Some(kind.to_lowercase().into()));
    }
    if names.text("/listKind").is_empty() && !kind.is_empty() {
        names.set_or_remove("listKind", Some(format!("{kind}List").into()));
    }
    spec.set_default("conversion", json!({"strategy": "None"}));
    let service = spec
        .get_object_mut("conversion")
        .and_then(|c| c.get_object_mut("webhook"))
        .and_then(|w| w.get_object_mut("clientConfig"))
        .and_then(|c| c.get_object_mut("service"));
    if let Some(service) = service {
        service.set_default("port", 443);
    }
}

/// Notes the storage version among those objects may be stored in.
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

/// What is wrong with a new definition.
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

/// What is wrong with a change.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    check(new, Some(old), &mut errors);
    validate_api_approval(new, Some(old), &mut errors);
    validate_preserve_unknown_fields(new, Some(old), &mut errors);
    errors.0
}

/// What is wrong with a change of the status.
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

/// Formats in the schemas that mean nothing to the server, unless they were there before.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unknown_formats).unwrap_or_default();
    unknown_formats(new)
        .into_iter()
        .filter(|f| !before.contains(f))
        .map(|f| format!("unrecognized format {f:?}"))
        .collect()
}

fn unknown_formats(definition: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for version in definition.list("/spec/versions") {
        schema_accessors::each(version.at("/schema/openAPIV3Schema"), &mut |schema| {
            let format = schema.text("/format");
            if !format.is_empty() && formats::supported(schema.text("/type"), format).is_empty() {
                out.push(format.to_string());
            }
        });
    }
    out
}

fn check(new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
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

/// Whether the definition's kind is being served.
fn is_established(definition: &Value) -> bool {
    let conditions = definition.list("/status/conditions").iter();
    conditions
        .filter(|c| c.text("/type") == "Established")
        .any(|c| c.text("/status") == "True")
}

fn immutable(spec: &Value, old: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
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
    for version in versions.iter().filter(|v| v.flag("/storage")) {
        if !names.contains(version.at("/name")) {
            let detail = format!("must have the storage version {}", version.text("/name"));
            errors.invalid(path, stored.clone(), detail);
        }
    }
    for (i, name) in names.iter().enumerate() {
        if !versions.iter().any(|v| v.at("/name") == name) {
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

const API_APPROVED_ANNOTATION: &str = "api-approved.kubernetes.io";

#[derive(PartialEq)]
enum ApiApprovalState {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

fn api_approval_state(definition: &Value) -> ApiApprovalState {
    let text = definition
        .annotation(API_APPROVED_ANNOTATION)
        .unwrap_or_default();
    let is_url = text.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !scheme.is_empty()
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && !host.is_empty()
            && !text.contains(char::is_whitespace)
    });
    match text {
        "" => ApiApprovalState::Missing,
        text if text.starts_with("unapproved") => ApiApprovalState::Bypassed,
        _ if is_url => ApiApprovalState::Approved,
        _ => ApiApprovalState::Invalid,
    }
}

/// Groups of the Kubernetes project must say who approved them.
fn validate_api_approval(new: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let group = new.text("/spec/group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|own| {
        group
            .strip_suffix(own)
            .is_some_and(|g| g.is_empty() || g.ends_with('.'))
    });
    let state = api_approval_state(new);
    if !protected || old.is_some_and(|o| api_approval_state(o) == state) {
        return;
    }
    let (metadata, more) = (
        FieldPath::root("metadata"),
        ", see https://github.com/kubernetes/enhancements/pull/1111",
    );
    let annotations = metadata.child("annotations");
    let path = annotations.key(API_APPROVED_ANNOTATION);
    let must =
        format!("protected groups must have approval annotation {API_APPROVED_ANNOTATION:?}");
    match state {
        ApiApprovalState::Missing => errors.required(&path, &format!("{must}{more}")),
        ApiApprovalState::Invalid => {
            let given = new.annotation(API_APPROVED_ANNOTATION).unwrap_or_default();
            let detail =
                format!("{must} with either a URL or a reason starting with \"unapproved\"{more}");
            errors.invalid(&path, given, detail);
        }
        ApiApprovalState::Approved | ApiApprovalState::Bypassed => {}
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

#[cfg(test)]
mod tests;
