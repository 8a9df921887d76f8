//! Namespaces.

use serde_json::{Value, json};

use super::builtin_strategy::{BuiltinStrategy, SelectableFields};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of Namespaces.
pub(crate) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::name_is_dns_label,
    selectable_fields: SelectableFields::Some(&[
        ("status.phase", "/status/phase", ""),
        ("name", "/metadata/name", ""),
    ]),
    set_defaults: |namespace| {
        set_metadata_name_label(namespace);
        namespace
            .object_mut("status")
            .set_default("phase", "Active");
    },
    prepare_for_create: |namespace| {
        set_metadata_name_label(namespace);
        namespace["status"] = json!({"phase": "Active"});
        let spec = namespace.object_mut("spec");
        let mut finalizers = spec.list("/finalizers").to_vec();
        if !finalizers.iter().any(|f| f == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        spec.set_or_remove("finalizers", Some(finalizers.into()));
    },
    prepare_for_update: |new, old| {
        set_metadata_name_label(new);
        let finalizers = old.at("/spec/finalizers").clone();
        new.object_mut("spec")
            .set_or_remove("finalizers", (!finalizers.is_null()).then_some(finalizers));
    },
    prepare_for_subresource_update: |name, new, old| {
        if name == "finalize" {
            new.set_or_remove("status", old.get("status").cloned());
        }
    },
    validate_create: |namespace| {
        let mut errors = ErrorList::default();
        let path = FieldPath::root("spec");
        for finalizer in namespace
            .list("/spec/finalizers")
            .iter()
            .filter_map(Value::as_str)
        {
            self::finalizer(&mut errors, &path.child("finalizers"), finalizer);
        }
        errors.0
    },
    validate_subresource_update: validate_subresource,
    ..BuiltinStrategy::DEFAULT
};

/// Sets the `kubernetes.io/metadata.name` label.
fn set_metadata_name_label(namespace: &mut Value) {
    let name = namespace.name().to_string();
    if !name.is_empty() {
        let labels = namespace.object_mut("metadata").object_mut("labels");
        labels.set_or_remove("kubernetes.io/metadata.name", Some(name.into()));
    }
}

fn finalizer(errors: &mut ErrorList, path: &FieldPath<'_>, name: &str) {
    errors.invalid_for_each(path, name, name_validation::qualified_name(name));
    if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(path, name, detail);
    }
}

fn validate_subresource(subresource: &str, new: &Value, _old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    if subresource == "finalize" {
        let spec = FieldPath::root("spec");
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
    let status = FieldPath::root("status");
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
        (STRATEGY.set_defaults)(&mut n);
        (STRATEGY.prepare_for_create)(&mut n);
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
