//! Resolves the RBAC rules of a user, as `DefaultRuleResolver` of `pkg/registry/rbac/validation`.

use std::ops::ControlFlow;

use serde_json::Value;

use super::user::User;
use crate::registry::object_reader::ObjectReader;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// A rule that applies to a user, and the binding that grants it.
pub(crate) struct GrantedRule<'a> {
    /// The rule.
    pub(crate) rule: &'a Value,
    binding: &'a Value,
    subject: &'a Value,
}

impl GrantedRule<'_> {
    /// The binding as in the reason of an authorization decision.
    pub(crate) fn source(&self) -> String {
        let namespace = text(&self.binding["metadata"], "namespace");
        let name = text(&self.binding["metadata"], "name");
        let (kind, name) = match namespace {
            "" => ("ClusterRoleBinding", name.to_owned()),
            namespace => ("RoleBinding", format!("{name}/{namespace}")),
        };
        let role = &self.binding["roleRef"];
        format!(
            "{kind} {name:?} of {} {:?} to {}",
            text(role, "kind"),
            text(role, "name"),
            describe_subject(self.subject, namespace)
        )
    }
}

fn describe_subject(subject: &Value, binding_namespace: &str) -> String {
    let (kind, name) = (text(subject, "kind"), text(subject, "name"));
    if kind != "ServiceAccount" {
        return format!("{kind} {name:?}");
    }
    let namespace = match text(subject, "namespace") {
        "" => binding_namespace,
        namespace => namespace,
    };
    format!("{kind} {:?}", format!("{name}/{namespace}"))
}

/// Calls `visit` with the rules that apply to `user` in a namespace (empty: cluster-wide only)
/// until it breaks. Returns the errors of bindings whose role does not exist.
pub(crate) fn visit_rules_for(
    reader: &dyn ObjectReader,
    user: &User,
    namespace: &str,
    mut visit: impl FnMut(GrantedRule<'_>) -> ControlFlow<()>,
) -> Vec<String> {
    let mut errors = Vec::new();
    let mut bindings = reader.list(GROUP, "clusterrolebindings", "");
    if !namespace.is_empty() {
        bindings.extend(reader.list(GROUP, "rolebindings", namespace));
    }
    for binding in bindings {
        let namespace = text(&binding["metadata"], "namespace");
        let mut subjects = binding["subjects"].as_array().into_iter().flatten();
        let Some(subject) = subjects.find(|s| applies_to_user(s, user, namespace)) else {
            continue;
        };
        let role = match role_reference(reader, &binding["roleRef"], namespace) {
            Ok(role) => role,
            Err(error) => {
                errors.push(error.to_string());
                continue;
            }
        };
        for rule in role["rules"].as_array().into_iter().flatten() {
            let granted = GrantedRule {
                rule,
                binding: &binding,
                subject,
            };
            if visit(granted).is_break() {
                return errors;
            }
        }
    }
    errors
}

/// The rules that apply to `user` in a namespace, and the errors of missing roles.
pub(crate) fn rules_for(
    reader: &dyn ObjectReader,
    user: &User,
    namespace: &str,
) -> (Vec<Value>, Vec<String>) {
    let mut rules = Vec::new();
    let errors = visit_rules_for(reader, user, namespace, |granted| {
        rules.push(granted.rule.clone());
        ControlFlow::Continue(())
    });
    (rules, errors)
}

/// A `roleRef` without a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoleReferenceError {
    /// The kind is not that of a role.
    #[error("unsupported role reference kind: {0:?}")]
    Kind(String),
    /// The role does not exist.
    #[error("{resource}.{group} {name:?} not found", group = GROUP)]
    NotFound {
        /// The kind of the role.
        resource: &'static str,
        /// The role.
        name: String,
    },
}

/// The role of a `roleRef`.
///
/// # Errors
/// It does not exist.
pub(crate) fn role_reference(
    reader: &dyn ObjectReader,
    role_ref: &Value,
    namespace: &str,
) -> Result<std::sync::Arc<Value>, RoleReferenceError> {
    let name = text(role_ref, "name");
    let (role, resource) = match text(role_ref, "kind") {
        "ClusterRole" => (reader.get(GROUP, "clusterroles", "", name), "clusterrole"),
        "Role" => (reader.get(GROUP, "roles", namespace, name), "role"),
        kind => return Err(RoleReferenceError::Kind(kind.to_owned())),
    };
    role.ok_or_else(|| RoleReferenceError::NotFound {
        resource,
        name: name.to_owned(),
    })
}

fn applies_to_user(subject: &Value, user: &User, namespace: &str) -> bool {
    let name = text(subject, "name");
    match text(subject, "kind") {
        "User" => name == user.name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let namespace = match text(subject, "namespace") {
                "" => namespace,
                namespace => namespace,
            };
            !namespace.is_empty()
                && user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
