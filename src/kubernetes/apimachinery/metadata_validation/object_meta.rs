//! Validation of `metadata`, as `validation.ValidateObjectMeta`.

use std::collections::HashSet;

use serde_json::Value;

use super::object_names::ValidateNameFn;
use super::{labels, object_names};
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::ValueExt;

/// Maximum total size of annotations in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Field errors of a new object's metadata.
pub fn validate_object_meta(
    object: &Value,
    namespaced: bool,
    name_rule: ValidateNameFn,
) -> Vec<FieldError> {
    let mut errors = common(object, namespaced, name_rule);
    errors.extend(kube_finalizers(object));
    errors
}

/// Field errors of the metadata of any new object: the generic validation of `rest.BeforeCreate`.
pub fn validate_common(object: &Value, namespaced: bool) -> Vec<FieldError> {
    common(object, namespaced, object_names::path_segment_name)
}

/// Field errors of a new custom resource's metadata; finalizers are not restricted.
pub fn validate_custom_resource_meta(object: &Value, namespaced: bool) -> Vec<FieldError> {
    common(object, namespaced, object_names::name_is_dns_subdomain)
}

/// Field errors of an update of a custom resource's metadata.
pub fn validate_custom_resource_meta_update(new: &Value, old: &Value) -> Vec<FieldError> {
    changed(new, old)
}

fn common(object: &Value, namespaced: bool, name_rule: ValidateNameFn) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let meta = object.at("/metadata");
    let generate = meta.text("/generateName");
    if !generate.is_empty() {
        for message in name_rule(generate, true) {
            errors.push(FieldError::invalid(
                "metadata.generateName",
                generate,
                message,
            ));
        }
    }
    match meta.text("/name") {
        "" => errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        )),
        name => errors.extend(
            name_rule(name, false)
                .into_iter()
                .map(|message| FieldError::invalid("metadata.name", name, message)),
        ),
    }
    match (namespaced, meta.text("/namespace")) {
        (true, "") => errors.push(FieldError::required("metadata.namespace", "")),
        (true, namespace) => errors.extend(
            name_validation::dns1123_label(namespace)
                .into_iter()
                .map(|message| FieldError::invalid("metadata.namespace", namespace, message)),
        ),
        (false, "") => {}
        (false, _) => {
            errors.push(FieldError::forbidden(
                "metadata.namespace",
                "not allowed on this type",
            ));
        }
    }
    errors.extend(generation(meta));
    errors.extend(labels::validate(meta.at("/labels"), "metadata.labels"));
    errors.extend(annotations(meta.at("/annotations"), "metadata.annotations"));
    errors.extend(owner_references(meta));
    errors.extend(finalizers(meta));
    errors.extend(managed_fields(meta));
    errors
}

fn generation(meta: &Value) -> Option<FieldError> {
    let generation = meta.int("/generation");
    let detail = "must be greater than or equal to 0";
    (generation < 0).then(|| FieldError::invalid("metadata.generation", generation, detail))
}

/// Field errors of annotations.
pub fn annotations(annotations: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.entries("") {
        // Annotation keys are validated case-insensitively, unlike label keys.
        for message in name_validation::qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), message));
        }
        size += key.len() + value.as_str().map(str::len).unwrap_or_default();
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT));
    }
    errors
}

fn owner_references(meta: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for (i, owner) in meta.list("/ownerReferences").iter().enumerate() {
        let path = format!("metadata.ownerReferences[{i}]");
        let version = owner.text("/apiVersion");
        if version.is_empty() {
            errors.push(FieldError::required(
                format!("{path}.apiVersion"),
                "must not be empty",
            ));
        } else if version.matches('/').count() > 1 || version.ends_with('/') {
            let detail = "must be <group>/<version> or <version>";
            errors.push(FieldError::invalid(
                format!("{path}.apiVersion"),
                version,
                detail,
            ));
        }
        for field in ["kind", "name", "uid"] {
            if owner.text(&format!("/{field}")).is_empty() {
                errors.push(FieldError::required(
                    format!("{path}.{field}"),
                    "must not be empty",
                ));
            }
        }
        if version == "v1" && owner.text("/kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path, owner.clone(), detail));
        }
        if owner.flag("/controller") {
            let this = format!("{}/{}", owner.text("/kind"), owner.text("/name"));
            match &controller {
                Some(first) => errors.push(FieldError::invalid(
                    "metadata.ownerReferences",
                    meta.at("/ownerReferences").clone(),
                    format!("Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"),
                )),
                None => controller = Some(this),
            }
        }
    }
    errors
}

fn finalizers(meta: &Value) -> Vec<FieldError> {
    let path = "metadata.finalizers";
    let list = meta.list("/finalizers");
    let mut errors = Vec::new();
    for finalizer in list.iter().filter_map(Value::as_str) {
        for message in name_validation::qualified_name(finalizer) {
            errors.push(FieldError::invalid(path, finalizer, message));
        }
    }
    let has = |name: &str| list.iter().any(|f| f == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(
            path,
            meta.at("/finalizers").clone(),
            detail,
        ));
    }
    errors
}

/// Built-in kinds accept only the standard finalizers without a domain.
fn kube_finalizers(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list = object
        .list("/metadata/finalizers")
        .iter()
        .filter_map(Value::as_str)
        .enumerate();
    for (i, finalizer) in list {
        let standard = matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion");
        if !finalizer.contains('/') && !standard {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(
                format!("metadata.finalizers[{i}]"),
                finalizer,
                detail,
            ));
        }
    }
    errors
}

fn managed_fields(meta: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (i, entry) in meta.list("/managedFields").iter().enumerate() {
        let path = format!("metadata.managedFields[{i}]");
        match entry.text("/operation") {
            "" => {
                errors.push(FieldError::required(
                    format!("{path}.operation"),
                    "must not be empty",
                ));
            }
            "Apply" | "Update" => {}
            other => errors.push(FieldError::not_supported(
                format!("{path}.operation"),
                other,
                &["Apply", "Update"],
            )),
        }
        let fields_type = entry.text("/fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            let detail = "must be `FieldsV1`";
            errors.push(FieldError::invalid(
                format!("{path}.fieldsType"),
                fields_type,
                detail,
            ));
        }
        errors.extend(field_manager(
            entry.text("/manager"),
            &format!("{path}.manager"),
        ));
    }
    errors
}

/// Field errors of the name of a field manager.
pub(crate) fn field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(FieldError::too_long(path, 128));
    }
    if manager.chars().any(char::is_control) {
        let detail = "should only contain printable characters";
        errors.push(FieldError::invalid(path, manager, detail));
    }
    errors
}

/// Field errors of an update of metadata.
pub fn validate_object_meta_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = changed(new, old);
    errors.extend(kube_finalizers(new));
    errors
}

/// Field errors of the metadata of any updated object: the generic validation of
/// `rest.BeforeUpdate`.
pub fn validate_common_update(new: &Value, old: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = validate_common(new, namespaced);
    errors.extend(changed(new, old));
    errors
}

fn changed(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (new, old) = (new.at("/metadata"), old.at("/metadata"));
    if old.has("/deletionTimestamp") {
        let before: HashSet<&Value> = old.list("/finalizers").iter().collect();
        let mut added: Vec<&str> = new
            .list("/finalizers")
            .iter()
            .filter(|f| !before.contains(*f))
            .filter_map(Value::as_str)
            .collect();
        added.sort_unstable();
        added.dedup();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", detail));
        }
    }
    if new.text("/resourceVersion").is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid("metadata.resourceVersion", "", detail));
    }
    errors.extend(generation(new));
    if new.int("/generation") < old.int("/generation") {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(
            "metadata.generation",
            new.int("/generation"),
            detail,
        ));
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let pointer = format!("/{field}");
        errors.extend(immutable(
            new.at(&pointer),
            old.at(&pointer),
            &format!("metadata.{field}"),
        ));
    }
    errors.extend(labels::validate(new.at("/labels"), "metadata.labels"));
    errors.extend(annotations(new.at("/annotations"), "metadata.annotations"));
    errors.extend(owner_references(new));
    errors.extend(managed_fields(new));
    errors
}

/// `field is immutable`, if the value has changed.
pub(crate) fn immutable(new: &Value, old: &Value, path: &str) -> Option<FieldError> {
    (new != old).then(|| FieldError::invalid(path, new.clone(), "field is immutable"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kueue_lab_testing::texts;

    #[test]
    fn a_new_object() {
        let fine = json!({"metadata": {"name": "a", "namespace": "b", "labels": {"x/y": "z"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": true}],
            "finalizers": ["kueue.x-k8s.io/managed", "orphan"]}});
        assert!(validate_object_meta(&fine, true, object_names::name_is_dns_subdomain).is_empty());
        let bad = json!({"metadata": {"namespace": "b", "finalizers": ["mine"],
            "ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "controller": true},
                                {"apiVersion": "v1", "kind": "L", "name": "m", "uid": "2", "controller": true}]}});
        let got = texts(validate_object_meta(
            &bad,
            false,
            object_names::name_is_dns_subdomain,
        ));
        assert_eq!(
            got[..2],
            [
                "metadata.name: Required value: name or generateName is required",
                "metadata.namespace: Forbidden: not allowed on this type",
            ]
        );
        assert_eq!(
            got[2],
            r#"metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>"#
        );
        assert_eq!(
            got[3],
            "metadata.ownerReferences[0].uid: Required value: must not be empty"
        );
        assert!(got[4].ends_with(r#"Found "true" in references for K/n and L/m"#));
        assert!(
            got[5].ends_with("name is neither a standard finalizer name nor is it fully qualified")
        );
    }

    #[test]
    fn a_change() {
        let old = json!({"metadata": {"name": "a", "uid": "1", "generation": 3, "resourceVersion": "5",
            "deletionTimestamp": "t", "finalizers": ["a/b"]}});
        let mut new = old.clone();
        assert!(validate_object_meta_update(&new, &old).is_empty());
        new["metadata"]["uid"] = "2".into();
        new["metadata"]["generation"] = 2.into();
        new["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
        assert_eq!(
            texts(validate_object_meta_update(&new, &old)),
            [
                r#"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}"#,
                "metadata.generation: Invalid value: 2: must not be decremented",
                r#"metadata.uid: Invalid value: "2": field is immutable"#,
            ]
        );
    }

    #[test]
    fn annotations_have_a_size() {
        let big = json!({"a": "x".repeat(ANNOTATIONS_LIMIT)});
        assert_eq!(
            texts(annotations(&big, "p")),
            ["p: Too long: may not be more than 262144 bytes"]
        );
        assert!(annotations(&json!({"A.B/Key": "v"}), "p").is_empty());
    }
}
