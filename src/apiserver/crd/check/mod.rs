//! CustomResourceDefinition objects themselves: what is filled in for them, and whether they are
//! sound.
//!
//! Error texts are those of a real server, which checks an internal form of the object: what all
//! versions have in common stands once, above them (`spec.validation` instead of
//! `spec.versions[i].schema`), and offending values are shown in Go's names.

mod conversion;
mod defaults;
mod expressions;
mod internal;
mod keys;
mod names;
mod path;
mod pattern;
mod schema;
mod structural;
mod typed;
mod versions;

use serde_json::{Value, json};

use super::formats;
use crate::field::FieldError;
use crate::kinds::check::{Errors, Path};
use crate::kinds::value::{Fill, Look};

/// Fills in what a definition leaves out.
pub fn default(definition: &mut Value) {
    let spec = definition.child("spec");
    let names = spec.child("names");
    let kind = names.text("/kind").to_string();
    if names.text("/singular").is_empty() && !kind.is_empty() {
        names.put("singular", Some(kind.to_lowercase().into()));
    }
    if names.text("/listKind").is_empty() && !kind.is_empty() {
        names.put("listKind", Some(format!("{kind}List").into()));
    }
    spec.or_set("conversion", json!({"strategy": "None"}));
    let service = spec
        .child_if("conversion")
        .and_then(|c| c.child_if("webhook"))
        .and_then(|w| w.child_if("clientConfig"))
        .and_then(|c| c.child_if("service"));
    if let Some(service) = service {
        service.or_set("port", 443);
    }
}

/// Notes the storage version among those objects may be stored in.
pub fn note_storage(definition: &mut Value) {
    let versions = definition.list("/spec/versions");
    let storage = versions.iter().find(|v| v.flag("/storage"));
    let Some(storage) = storage.map(|v| v.at("/name").clone()) else {
        return;
    };
    let status = definition.child("status");
    match status
        .get_mut("storedVersions")
        .and_then(Value::as_array_mut)
    {
        Some(all) if all.contains(&storage) => {}
        Some(all) => all.push(storage),
        None => status.put("storedVersions", Some(json!([storage]))),
    }
}

/// What is wrong with a new definition.
pub fn create(definition: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let (spec, name) = (definition.at("/spec"), definition.name());
    let wanted = format!("{}.{}", spec.text("/names/plural"), spec.text("/group"));
    if name != wanted {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        errors.invalid(&Path::root("metadata").child("name"), name, detail);
    }
    check(definition, None, &mut errors);
    approval(definition, None, &mut errors);
    unpruned(definition, None, &mut errors);
    errors.0
}

/// What is wrong with a change.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    check(new, Some(old), &mut errors);
    approval(new, Some(old), &mut errors);
    unpruned(new, Some(old), &mut errors);
    errors.0
}

/// What is wrong with a change of the status.
pub fn update_status(new: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let path = Path::root("status");
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
        keys::each(version.at("/schema/openAPIV3Schema"), &mut |schema| {
            let format = schema.text("/format");
            if !format.is_empty() && formats::supported(schema.text("/type"), format).is_empty() {
                out.push(format.to_string());
            }
        });
    }
    out
}

fn check(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let (root, status) = (Path::root("spec"), Path::root("status"));
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
    stored(new, &status.child("storedVersions"), errors);
}

/// Whether the definition's kind is being served.
fn is_established(definition: &Value) -> bool {
    let conditions = definition.list("/status/conditions").iter();
    conditions
        .filter(|c| c.text("/type") == "Established")
        .any(|c| c.text("/status") == "True")
}

fn immutable(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
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

fn stored(definition: &Value, path: &Path<'_>, errors: &mut Errors) {
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

const APPROVED: &str = "api-approved.kubernetes.io";

#[derive(PartialEq)]
enum Approval {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

fn approval_of(definition: &Value) -> Approval {
    let text = definition.annotation(APPROVED).unwrap_or_default();
    let is_url = text.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !scheme.is_empty()
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && !host.is_empty()
            && !text.contains(char::is_whitespace)
    });
    match text {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed,
        _ if is_url => Approval::Approved,
        _ => Approval::Invalid,
    }
}

/// Groups of the Kubernetes project must say who approved them.
fn approval(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let group = new.text("/spec/group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|own| {
        group
            .strip_suffix(own)
            .is_some_and(|g| g.is_empty() || g.ends_with('.'))
    });
    let state = approval_of(new);
    if !protected || old.is_some_and(|o| approval_of(o) == state) {
        return;
    }
    let (metadata, more) = (
        Path::root("metadata"),
        ", see https://github.com/kubernetes/enhancements/pull/1111",
    );
    let annotations = metadata.child("annotations");
    let path = annotations.key(APPROVED);
    let must = format!("protected groups must have approval annotation {APPROVED:?}");
    match state {
        Approval::Missing => errors.required(&path, &format!("{must}{more}")),
        Approval::Invalid => {
            let given = new.annotation(APPROVED).unwrap_or_default();
            let detail =
                format!("{must} with either a URL or a reason starting with \"unapproved\"{more}");
            errors.invalid(&path, given, detail);
        }
        Approval::Approved | Approval::Bypassed => {}
    }
}

fn unpruned(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let field = "/spec/preserveUnknownFields";
    if new.flag(field) && !old.is_some_and(|o| o.flag(field)) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.invalid(
            &Path::root("spec").child("preserveUnknownFields"),
            true,
            detail,
        );
    }
}

#[cfg(test)]
mod tests;
