//! Namespaces.

use serde_json::{Value, json};

use super::check::{Errors, Path};
use super::meta::names;
use super::rules::{Fields, Rules};
use super::value::{Fill, Look};
use crate::field::FieldError;

/// The rules of namespaces.
pub const RULES: Rules = Rules {
    name: names::label_name,
    fields: Fields::Some(&[
        ("status.phase", "/status/phase", ""),
        ("name", "/metadata/name", ""),
    ]),
    default: |namespace| {
        label_with_name(namespace);
        namespace.child("status").or_set("phase", "Active");
    },
    prepare_create: |namespace| {
        label_with_name(namespace);
        namespace["status"] = json!({"phase": "Active"});
        let spec = namespace.child("spec");
        let mut finalizers = spec.list("/finalizers").to_vec();
        if !finalizers.iter().any(|f| f == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        spec.put("finalizers", Some(finalizers.into()));
    },
    prepare_update: |new, old| {
        label_with_name(new);
        let finalizers = old.at("/spec/finalizers").clone();
        new.child("spec")
            .put("finalizers", (!finalizers.is_null()).then_some(finalizers));
    },
    prepare_subresource: |name, new, old| {
        if name == "finalize" {
            new.put("status", old.get("status").cloned());
        }
    },
    create: |namespace| {
        let mut errors = Errors::default();
        let path = Path::root("spec");
        for finalizer in namespace
            .list("/spec/finalizers")
            .iter()
            .filter_map(Value::as_str)
        {
            self::finalizer(&mut errors, &path.child("finalizers"), finalizer);
        }
        errors.0
    },
    subresource: validate_subresource,
    ..Rules::PLAIN
};

/// Every namespace can be selected by its name.
fn label_with_name(namespace: &mut Value) {
    let name = namespace.name().to_string();
    if !name.is_empty() {
        let labels = namespace.child("metadata").child("labels");
        labels.put("kubernetes.io/metadata.name", Some(name.into()));
    }
}

fn finalizer(errors: &mut Errors, path: &Path<'_>, name: &str) {
    errors.complaints(path, name, names::qualified_name(name));
    if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(path, name, detail);
    }
}

fn validate_subresource(subresource: &str, new: &Value, _old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if subresource == "finalize" {
        let spec = Path::root("spec");
        let path = spec.child("finalizers");
        for (i, name) in new
            .list("/spec/finalizers")
            .iter()
            .filter_map(Value::as_str)
            .enumerate()
        {
            finalizer(&mut errors, &path.index(i), name);
        }
        return errors.0;
    }
    let phase = new.text("/status/phase");
    let status = Path::root("status");
    let path = status.child("Phase");
    match new.is_terminating() {
        false if phase != "Active" => {
            let detail = "may only be 'Active' if `deletionTimestamp` is empty";
            errors.invalid(&path, phase, detail);
        }
        true if phase != "Terminating" => {
            let detail = "may only be 'Terminating' if `deletionTimestamp` is not empty";
            errors.invalid(&path, phase, detail);
        }
        _ => {}
    }
    errors.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_namespace() {
        let mut n = json!({"metadata": {"name": "a"}});
        (RULES.default)(&mut n);
        (RULES.prepare_create)(&mut n);
        assert_eq!(n.label("kubernetes.io/metadata.name"), Some("a"));
        assert_eq!(*n.at("/spec/finalizers"), json!(["kubernetes"]));
        assert_eq!(n.text("/status/phase"), "Active");
        let phase = json!({"metadata": {}, "status": {"phase": "Terminating"}});
        let errors = validate_subresource("status", &phase, &n);
        assert_eq!(
            errors[0].to_string(),
            r#"status.Phase: Invalid value: "Terminating": may only be 'Active' if `deletionTimestamp` is empty"#
        );
    }
}
