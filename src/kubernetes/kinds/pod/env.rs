//! Validation of environment variables of containers and their sources.

use serde_json::Value;

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_field::name_validation;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

/// Pod fields supported by `env[].valueFrom.fieldRef`, in order.
const ENV_FIELD_PATHS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Pod fields supported by downward API volumes, in order.
pub(super) const VOLUME_FIELD_PATHS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Validates the environment variables of a container.
pub(super) fn validate(errors: &mut ErrorList, path: &FieldPath<'_>, variables: &[Value]) {
    for (i, variable) in variables.iter().enumerate() {
        let path = path.index(i);
        match variable.text("/name") {
            "" => errors.required(&path.child("name"), ""),
            name => errors.invalid_for_each(
                &path.child("name"),
                name,
                name_validation::env_var_name(name),
            ),
        }
        if variable.has("/valueFrom") {
            value_from(errors, &path.child("valueFrom"), variable);
        }
    }
}

fn value_from(errors: &mut ErrorList, path: &FieldPath<'_>, variable: &Value) {
    let from = variable.at("/valueFrom");
    let mut sources = 0;
    if from.has("/fieldRef") {
        sources += 1;
        field_ref(
            errors,
            &path.child("fieldRef"),
            from.at("/fieldRef"),
            &ENV_FIELD_PATHS,
        );
    }
    if from.has("/resourceFieldRef") {
        sources += 1;
        let path = path.child("resourceFieldRef");
        resource_ref(errors, &path, from.at("/resourceFieldRef"), false);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        let reference = from.get(field).unwrap_or(&Value::Null);
        if !reference.is_null() {
            sources += 1;
            key_ref(errors, &path.child(field), reference);
        }
    }
    sources += usize::from(from.has("/fileKeyRef"));
    match sources {
        0 => {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
            errors.invalid(path, "", detail);
        }
        _ if !variable.text("/value").is_empty() => {
            errors.invalid(path, "", "may not be specified when `value` is not empty");
        }
        1 => {}
        _ => errors.invalid(
            path,
            "",
            "may not have more than one field specified at a time",
        ),
    }
}

fn key_ref(errors: &mut ErrorList, path: &FieldPath<'_>, reference: &Value) {
    let name = reference.text("/name");
    errors.invalid_for_each(
        &path.child("name"),
        name,
        name_validation::dns1123_subdomain(name),
    );
    match reference.text("/key") {
        "" => errors.required(&path.child("key"), ""),
        key => errors.invalid_for_each(
            &path.child("key"),
            key,
            name_validation::config_map_key(key),
        ),
    }
}

/// Validates a `fieldRef`.
pub(super) fn field_ref(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    reference: &Value,
    allowed: &[&str],
) {
    if reference.text("/apiVersion").is_empty() {
        errors.required(&path.child("apiVersion"), "");
        return;
    }
    let field = reference.text("/fieldPath");
    let field_path = path.child("fieldPath");
    if field.is_empty() {
        errors.required(&field_path, "");
        return;
    }
    if let Some((base, key)) = subscript(field) {
        match base {
            "metadata.annotations" => {
                let key = key.to_lowercase();
                errors.invalid_for_each(path, &key, name_validation::qualified_name(&key));
            }
            "metadata.labels" => {
                errors.invalid_for_each(path, key, name_validation::qualified_name(key))
            }
            _ => errors.invalid(path, field, "does not support subscript"),
        }
        return;
    }
    let known = ENV_FIELD_PATHS.contains(&field)
        || VOLUME_FIELD_PATHS.contains(&field)
        || matches!(
            field,
            "spec.restartPolicy" | "spec.schedulerName" | "status.phase" | "spec.host"
        );
    if !known {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        errors.invalid(&field_path, field, detail);
    } else if !allowed.contains(&field) {
        errors.one_of(&field_path, field, allowed);
    }
}

/// Splits `metadata.labels['key']` into path and key.
fn subscript(field: &str) -> Option<(&str, &str)> {
    field.strip_suffix("']")?.split_once("['")
}

/// Validates a `resourceFieldRef`.
pub(super) fn resource_ref(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    reference: &Value,
    in_volume: bool,
) {
    if in_volume && reference.text("/containerName").is_empty() {
        errors.required(&path.child("containerName"), "");
        return;
    }
    let resource = reference.text("/resource");
    let huge = |prefix: &str| {
        resource
            .strip_prefix(prefix)
            .is_some_and(|r| r.starts_with("hugepages-"))
    };
    if resource.is_empty() {
        errors.required(&path.child("resource"), "");
    } else if !huge("limits.") && !huge("requests.") {
        errors.one_of(&path.child("resource"), resource, &RESOURCES);
    }
    let divisor = Quantity::or_zero(Some(reference.at("/divisor")));
    if divisor == Quantity::ZERO {
        return;
    }
    let text = divisor.to_string();
    let units = [
        "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
    ];
    let list = units.join(", ");
    let (valid, what) = match resource {
        "limits.cpu" | "requests.cpu" => (matches!(text.as_str(), "1m" | "1"), None),
        "limits.memory" | "requests.memory" => (units.contains(&text.as_str()), Some("memory")),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (
            units.contains(&text.as_str()),
            Some("local ephemeral storage"),
        ),
        _ => (units.contains(&text.as_str()), Some("hugepages")),
    };
    if !valid {
        let detail = match what {
            None => {
                "only divisor's values 1m and 1 are supported with the cpu resource".to_string()
            }
            Some(what) => {
                format!("only divisor's values {list} are supported with the {what} resource")
            }
        };
        errors.invalid(&path.child("divisor"), resource, detail);
    }
}

/// Validates `envFrom`.
pub(super) fn validate_from(errors: &mut ErrorList, path: &FieldPath<'_>, sources: &[Value]) {
    for (i, source) in sources.iter().enumerate() {
        let path = path.index(i);
        let prefix = source.text("/prefix");
        if !prefix.is_empty() {
            errors.invalid_for_each(
                &path.child("prefix"),
                prefix,
                name_validation::env_var_name(prefix),
            );
        }
        let mut count = 0;
        for field in ["configMapRef", "secretRef"] {
            let reference = source.get(field).unwrap_or(&Value::Null);
            if reference.is_null() {
                continue;
            }
            count += 1;
            let path = path.child(field);
            match reference.text("/name") {
                "" => errors.required(&path.child("name"), ""),
                name => errors.invalid_for_each(
                    &path.child("name"),
                    name,
                    object_names::name_is_dns_subdomain(name, true),
                ),
            }
        }
        match count {
            0 => errors.invalid(
                &path,
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            ),
            1 => {}
            _ => errors.invalid(
                &path,
                "",
                "may not have more than one field specified at a time",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(variable: Value) -> Vec<String> {
        let mut errors = ErrorList::default();
        validate(&mut errors, &FieldPath::root("env"), &[variable]);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sources_of_values() {
        let field = |p: &str| json!({"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": p}}});
        assert!(texts(field("metadata.name")).is_empty());
        assert!(texts(field("metadata.labels['a/b']")).is_empty());
        assert!(
            texts(field("metadata.labels"))[0].contains("Unsupported value: \"metadata.labels\"")
        );
        assert!(
            texts(field("spec.nope"))[0]
                .ends_with("error converting fieldPath: field label not supported: spec.nope")
        );
        assert!(texts(json!({"name": "A", "valueFrom": {}}))[0].contains("must specify one of"));
        let both = json!({"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}});
        assert!(texts(both)[0].ends_with("may not be specified when `value` is not empty"));
        let resource = json!({"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}});
        assert!(
            texts(resource)[0]
                .ends_with("only divisor's values 1m and 1 are supported with the cpu resource")
        );
    }
}
