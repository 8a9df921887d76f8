//! Roles, ClusterRoles and their bindings.

use serde_json::Value;

use crate::builtin_strategy::BuiltinStrategy;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

const GROUP: &str = "rbac.authorization.k8s.io";
const BASE: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::path_segment_name,
    allow_create_on_update: true,
    ..BuiltinStrategy::DEFAULT
};

pub(super) fn strategy_of(kind: &str) -> BuiltinStrategy {
    match kind {
        "Role" => BuiltinStrategy {
            validate_create: |role| role_checks(role, true),
            validate_update: |new, _| role_checks(new, true),
            ..BASE
        },
        "ClusterRole" => BuiltinStrategy {
            validate_create: |role| role_checks(role, false),
            validate_update: |new, _| role_checks(new, false),
            ..BASE
        },
        "RoleBinding" => BuiltinStrategy {
            set_defaults: default,
            validate_create: |binding| binding_checks(binding, &["Role", "ClusterRole"]),
            validate_update: |new, old| binding_update(new, old, &["Role", "ClusterRole"]),
            ..BASE
        },
        _ => BuiltinStrategy {
            set_defaults: default,
            validate_create: |binding| binding_checks(binding, &["ClusterRole"]),
            validate_update: |new, old| binding_update(new, old, &["ClusterRole"]),
            ..BASE
        },
    }
}

fn default(binding: &mut Value) {
    if let Some(role) = binding.get_object_mut("roleRef")
        && role.text("/apiGroup").is_empty()
    {
        role.set_or_remove("apiGroup", Some(GROUP.into()));
    }
    for subject in binding.items_mut("subjects") {
        if matches!(subject.text("/kind"), "User" | "Group") && subject.text("/apiGroup").is_empty()
        {
            subject.set_or_remove("apiGroup", Some(GROUP.into()));
        }
    }
}

fn role_checks(role: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let rules = FieldPath::root("rules");
    for (i, rule) in role.list("/rules").iter().enumerate() {
        let path = rules.index(i);
        if rule.list("/verbs").is_empty() {
            errors.required(
                &path.child("verbs"),
                "verbs must contain at least one value",
            );
        }
        let (groups, resources) = (rule.list("/apiGroups"), rule.list("/resources"));
        if !rule.list("/nonResourceURLs").is_empty() {
            let path = path.child("nonResourceURLs");
            let urls = rule.at("/nonResourceURLs").clone();
            if namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.invalid(&path, urls.clone(), detail);
            }
            let others = [groups, resources, rule.list("/resourceNames")];
            if others.iter().any(|list| !list.is_empty()) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.invalid(&path, urls, detail);
            }
            continue;
        }
        if groups.is_empty() {
            let detail = "resource rules must supply at least one api group";
            errors.required(&path.child("apiGroups"), detail);
        }
        if resources.is_empty() {
            let detail = "resource rules must supply at least one resource";
            errors.required(&path.child("resources"), detail);
        }
    }
    errors.0
}

fn binding_checks(binding: &Value, kinds: &[&str]) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let role = FieldPath::root("roleRef");
    let reference = binding.at("/roleRef");
    errors.one_of(
        &role.child("apiGroup"),
        reference.text("/apiGroup"),
        &[GROUP],
    );
    errors.one_of(&role.child("kind"), reference.text("/kind"), kinds);
    match reference.text("/name") {
        "" => errors.required(&role.child("name"), ""),
        name => {
            let messages = object_names::path_segment_name(name, false);
            errors.invalid_for_each(&role.child("name"), name, messages);
        }
    }
    let subjects = FieldPath::root("subjects");
    let namespaced = kinds.len() > 1;
    for (i, subject) in binding.list("/subjects").iter().enumerate() {
        subject_checks(&mut errors, &subjects.index(i), subject, namespaced);
    }
    errors.0
}

fn subject_checks(errors: &mut ErrorList, path: &FieldPath<'_>, subject: &Value, namespaced: bool) {
    let (name, group) = (subject.text("/name"), subject.text("/apiGroup"));
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    }
    match subject.text("/kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.invalid_for_each(
                    &path.child("name"),
                    name,
                    name_validation::dns1123_subdomain(name),
                );
            }
            errors.one_of(&path.child("apiGroup"), group, &[""]);
            if !namespaced && subject.text("/namespace").is_empty() {
                errors.required(&path.child("namespace"), "");
            }
        }
        "User" | "Group" => errors.one_of(&path.child("apiGroup"), group, &[GROUP]),
        other => errors.one_of(
            &path.child("kind"),
            other,
            &["Group", "ServiceAccount", "User"],
        ),
    }
}

fn binding_update(new: &Value, old: &Value, kinds: &[&str]) -> Vec<FieldError> {
    let mut errors = ErrorList(binding_checks(new, kinds));
    if new.at("/roleRef") != old.at("/roleRef") {
        let role = new.at("/roleRef");
        let text = |field: &str| Value::from(role.text(field));
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            text("/apiGroup"),
            text("/kind"),
            text("/name"),
        );
        errors.invalid_with_text(&FieldPath::root("roleRef"), shown, "cannot change roleRef");
    }
    errors.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roles_and_bindings() {
        let role = json!({"rules": [{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/x"]}]});
        let texts: Vec<String> = role_checks(&role, true)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
                r#"rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
            ]
        );
        let mut b = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]});
        default(&mut b);
        assert_eq!(
            (b.text("/roleRef/apiGroup"), b.text("/subjects/0/apiGroup")),
            (GROUP, GROUP)
        );
        assert!(binding_checks(&b, &["Role", "ClusterRole"]).is_empty());
        assert_eq!(binding_checks(&b, &["ClusterRole"]).len(), 2);
        let mut other = b.clone();
        other["roleRef"]["name"] = "q".into();
        let text = binding_update(&other, &b, &["Role", "ClusterRole"])[0].to_string();
        assert_eq!(
            text,
            r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"q"}: cannot change roleRef"#
        );
    }
}
