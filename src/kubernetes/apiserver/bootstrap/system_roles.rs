//! The roles of the components of a control plane and their bindings, from `system_roles.txt`.

use serde_json::{Value, json};

use super::bootstrap_object::BootstrapObject;
use super::rbac_bootstrap_policy::{GROUP, with_default_metadata};

const SYSTEM_ROLES: &str = include_str!("system_roles.txt");
const CONTROLLER_PREFIX: &str = "system:controller:";

/// The roles, then the bindings.
pub(super) fn system_roles() -> Vec<BootstrapObject> {
    parse(SYSTEM_ROLES)
}

fn parse(text: &str) -> Vec<BootstrapObject> {
    let mut objects: Vec<BootstrapObject> = Vec::new();
    let mut bindings = Vec::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["role", name] => {
                objects.push(role("", name));
                if let Some(account) = name.strip_prefix(CONTROLLER_PREFIX) {
                    let subject = format!("s:kube-system/{account}");
                    bindings.push(binding("", name, name, &subject));
                }
            }
            ["role", namespace, name] => objects.push(role(namespace, name)),
            ["binding", name, role] => bindings.push(binding("", name, role, "")),
            ["binding", name, role, subjects] => bindings.push(binding("", name, role, subjects)),
            ["binding", namespace, name, role, subjects] => {
                bindings.push(binding(namespace, name, role, subjects));
            }
            rule => {
                let rules = objects.last_mut().map(|role| &mut role.object["rules"]);
                if let (Some(Value::Array(rules)), Some(rule)) = (rules, self::rule(rule)) {
                    rules.push(rule);
                }
            }
        }
    }
    objects.extend(bindings);
    objects
}

fn rule(words: &[&str]) -> Option<Value> {
    let list = |words: &str| -> Value { words.split(',').collect::<Vec<_>>().into() };
    Some(match words {
        ["events"] => json!({
            "apiGroups": ["", "events.k8s.io"],
            "resources": ["events"],
            "verbs": ["create", "patch", "update"],
        }),
        [verbs, urls] => json!({"nonResourceURLs": list(urls), "verbs": list(verbs)}),
        [verbs, groups, resources, names @ ..] => {
            let groups = match *groups {
                "-" => json!([""]),
                groups => list(groups),
            };
            let mut rule = json!({
                "apiGroups": groups,
                "resources": list(resources),
                "verbs": list(verbs),
            });
            if let [names] = names {
                rule["resourceNames"] = list(names);
            }
            rule
        }
        _ => return None,
    })
}

fn role(namespace: &str, name: &str) -> BootstrapObject {
    let fields = json!({"rules": []});
    object(namespace, name, ("ClusterRole", "Role"), fields)
}

fn binding(namespace: &str, name: &str, role: &str, subjects: &str) -> BootstrapObject {
    let role_kind = match namespace {
        "" => "ClusterRole",
        _ => "Role",
    };
    let subjects = subjects.split(',').filter_map(subject);
    let mut fields = json!({"roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role}});
    let subjects: Vec<Value> = subjects.collect();
    if !subjects.is_empty() {
        fields["subjects"] = subjects.into();
    }
    let kinds = ("ClusterRoleBinding", "RoleBinding");
    object(namespace, name, kinds, fields)
}

fn subject(text: &str) -> Option<Value> {
    let (kind, name) = text.split_once(':')?;
    Some(match kind {
        "u" => json!({"apiGroup": GROUP, "kind": "User", "name": name}),
        "g" => json!({"apiGroup": GROUP, "kind": "Group", "name": name}),
        _ => {
            let (namespace, name) = name.split_once('/')?;
            json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
        }
    })
}

fn object(
    namespace: &str,
    name: &str,
    (cluster_kind, kind): (&str, &str),
    fields: Value,
) -> BootstrapObject {
    let kind = match namespace {
        "" => cluster_kind,
        _ => kind,
    };
    let plural = match kind {
        "ClusterRole" => "clusterroles",
        "Role" => "roles",
        "ClusterRoleBinding" => "clusterrolebindings",
        _ => "rolebindings",
    };
    let mut object = with_default_metadata((GROUP, "v1", plural), kind, name, &[], fields);
    if !namespace.is_empty() {
        object.object["metadata"]["namespace"] = namespace.into();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(objects: &'a [BootstrapObject], kind: &str, name: &str) -> &'a Value {
        let mut found = objects.iter().map(|o| &o.object);
        found
            .find(|o| o["kind"] == kind && o["metadata"]["name"] == name)
            .unwrap()
    }

    #[test]
    fn every_line_is_a_rule_or_an_object() {
        let objects = system_roles();
        let lines = SYSTEM_ROLES.lines();
        let rules = lines.filter(|line| {
            let first = line.split(' ').next().unwrap_or_default();
            !matches!(first, "" | "#" | "role" | "binding")
        });
        let parsed: usize = objects
            .iter()
            .filter_map(|o| o.object["rules"].as_array())
            .map(Vec::len)
            .sum();
        assert_eq!(parsed, rules.count());
        let mut names = std::collections::BTreeSet::new();
        for object in objects {
            let metadata = &object.object["metadata"];
            let key = format!("{} {metadata}", object.object["kind"]);
            assert!(names.insert(key), "{metadata} is there twice");
            if object.object["kind"].as_str().unwrap().ends_with("Role") {
                assert_ne!(object.object["rules"], json!([]), "{metadata}");
            }
        }
    }

    #[test]
    fn controllers_are_bound_to_their_service_accounts() {
        let objects = system_roles();
        let name = "system:controller:job-controller";
        let role = named(&objects, "ClusterRole", name);
        let first = json!({"apiGroups": ["batch"], "resources": ["jobs"],
            "verbs": ["get", "list", "patch", "update", "watch"]});
        assert_eq!(role["rules"][0], first);
        let binding = named(&objects, "ClusterRoleBinding", name);
        let account =
            json!({"kind": "ServiceAccount", "name": "job-controller", "namespace": "kube-system"});
        assert_eq!(binding["subjects"], json!([account]));
        let reader = "extension-apiserver-authentication-reader";
        let role = named(&objects, "Role", reader);
        assert_eq!(role["metadata"]["namespace"], "kube-system");
        assert_eq!(
            role["rules"][0]["resourceNames"],
            json!(["extension-apiserver-authentication"])
        );
    }
}
