//! Validation of `spec.names`.

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation::dns1035_label;
use kueue_lab_json::ValueExt;

/// Validates that the required names are set.
pub(super) fn required(names: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if names
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
        {
            errors.required(&path.child(field), "");
        }
    }
}

/// Validates the form of the names that are set.
pub(super) fn check(names: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let text = |field: &str| names.get(field).and_then(Value::as_str).unwrap_or_default();
    for field in ["plural", "singular"] {
        label(text(field), &path.child(field), errors);
    }
    for field in ["kind", "listKind"] {
        let (name, path) = (text(field), path.child(field));
        let messages = dns1035_label(&name.to_lowercase()).join(",");
        if !name.is_empty() && !messages.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {messages}");
            errors.invalid(&path, name, detail);
        }
    }
    each(names.list("/shortNames"), &path.child("shortNames"), errors);
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let detail = "kind and listKind may not be the same";
        errors.invalid(&path.child("listKind"), text("listKind"), detail);
    }
    each(names.list("/categories"), &path.child("categories"), errors);
}

fn each(names: &[Value], path: &FieldPath<'_>, errors: &mut ErrorList) {
    for (i, name) in names.iter().enumerate() {
        validate_label(name.as_str().unwrap_or_default(), &path.index(i), errors);
    }
}

/// Validates that a name is empty or a DNS label.
fn label(name: &str, path: &FieldPath<'_>, errors: &mut ErrorList) {
    if !name.is_empty() {
        validate_label(name, path, errors);
    }
}

/// Validates that a name is a DNS-1035 label.
pub(super) fn validate_label(name: &str, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let messages = dns1035_label(name);
    if !messages.is_empty() {
        errors.invalid(path, name, messages.join(","));
    }
}
