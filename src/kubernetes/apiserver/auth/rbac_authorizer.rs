//! RBAC authorizer over the stored roles and bindings.

use std::ops::ControlFlow;

use serde_json::Value;

use super::rule_resolver::visit_rules_for;
use super::user::User;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apimachinery::api_error::ApiError;

/// The attributes of a request to authorize.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthorizationAttributes {
    /// Verb, such as `list`.
    pub(crate) verb: String,
    /// API group of the resource.
    pub(crate) group: String,
    /// Plural resource name; empty for other paths.
    pub(crate) resource: String,
    /// Subresource, or empty.
    pub(crate) subresource: String,
    /// Namespace; empty at the cluster scope.
    pub(crate) namespace: String,
    /// Object name, or empty.
    pub(crate) name: String,
    /// Path of a non-resource request.
    pub(crate) path: String,
}

impl AuthorizationAttributes {
    fn resource_and_subresource(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    /// The 403 error of this request by `user`, with the reason of the decision.
    pub(crate) fn forbidden_error(&self, user: &User, reason: &str) -> ApiError {
        let reason = match reason {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        if self.resource.is_empty() {
            let message = format!(
                "User {:?} cannot {} path {:?}{reason}",
                user.name, self.verb, self.path
            );
            return ApiError::forbidden("", "", "", &message);
        }
        let scope = if self.namespace.is_empty() {
            "at the cluster scope".to_string()
        } else {
            format!("in the namespace {:?}", self.namespace)
        };
        let message = format!(
            "User {:?} cannot {} resource {:?} in API group {:?} {scope}{reason}",
            user.name,
            self.verb,
            self.resource_and_subresource(),
            self.group
        );
        ApiError::forbidden(&self.group, &self.resource, &self.name, &message)
    }
}

/// The decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Whether the request is allowed.
    pub(crate) is_allowed: bool,
    /// The binding that allows it, or the errors of bindings that could not be resolved; may be
    /// empty.
    pub(crate) reason: String,
}

/// Decides whether `user` may make the request.
pub(crate) fn authorize(
    reader: &dyn ObjectReader,
    user: &User,
    attributes: &AuthorizationAttributes,
) -> Decision {
    if user.is_system_masters() {
        return Decision {
            is_allowed: true,
            reason: String::new(),
        };
    }
    let mut allowed_by = None;
    let errors = visit_rules_for(reader, user, &attributes.namespace, |granted| {
        if !rule_allows(granted.rule, attributes) {
            return ControlFlow::Continue(());
        }
        allowed_by = Some(granted.source());
        ControlFlow::Break(())
    });
    Decision {
        is_allowed: allowed_by.is_some(),
        reason: match (allowed_by, errors.as_slice()) {
            (Some(source), _) => format!("RBAC: allowed by {source}"),
            (None, []) => String::new(),
            (None, [error]) => format!("RBAC: {error}"),
            (None, errors) => format!("RBAC: [{}]", errors.join(", ")),
        },
    }
}

fn rule_allows(rule: &Value, attributes: &AuthorizationAttributes) -> bool {
    let list = |field: &str| {
        rule[field]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    let has = |field: &str, wanted: &str| list(field).any(|v| v == "*" || v == wanted);
    if !has("verbs", &attributes.verb) {
        return false;
    }
    if attributes.resource.is_empty() {
        return list("nonResourceURLs").any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => attributes.path.starts_with(prefix),
            None => attributes.path == pattern,
        });
    }
    let full = attributes.resource_and_subresource();
    let resource = list("resources").any(|r| {
        r == "*"
            || r == full
            || (!attributes.subresource.is_empty()
                && r.strip_prefix("*/") == Some(&attributes.subresource))
    });
    let mut names = list("resourceNames").peekable();
    let named = names.peek().is_none() || names.any(|n| n == attributes.name);
    has("apiGroups", &attributes.group) && resource && named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attributes(verb: &str, resource: &str, subresource: &str) -> AuthorizationAttributes {
        AuthorizationAttributes {
            verb: verb.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: "x".into(),
            ..AuthorizationAttributes::default()
        }
    }

    #[test]
    fn rules_grant_only_listed_verbs_and_resources() {
        let rule = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "*/scale"]});
        assert!(rule_allows(&rule, &attributes("get", "pods", "")));
        assert!(rule_allows(&rule, &attributes("get", "anything", "scale")));
        assert!(!rule_allows(&rule, &attributes("get", "pods", "log")));
        assert!(!rule_allows(&rule, &attributes("list", "pods", "")));
        let named =
            json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "resourceNames": ["y"]});
        assert!(!rule_allows(&named, &attributes("get", "pods", "")));
        let path = json!({"verbs": ["get"], "nonResourceURLs": ["/healthz/*", "/version"]});
        let at = |p: &str| AuthorizationAttributes {
            path: p.into(),
            verb: "get".into(),
            ..AuthorizationAttributes::default()
        };
        assert!(rule_allows(&path, &at("/version")) && rule_allows(&path, &at("/healthz/ping")));
        assert!(!rule_allows(&path, &at("/metrics")));
    }

    #[test]
    fn forbidden_errors_name_user_verb_resource_and_scope() {
        let user = User {
            name: "bob".into(),
            ..User::default()
        };
        let mut a = attributes("list", "widgets", "");
        (a.name, a.group, a.namespace) = (String::new(), "x.dev".into(), "n".into());
        assert_eq!(
            a.forbidden_error(&user, "").message,
            "widgets.x.dev is forbidden: User \"bob\" cannot list resource \"widgets\" in API group \"x.dev\" in the namespace \"n\""
        );
        let path = AuthorizationAttributes {
            verb: "get".into(),
            path: "/metrics".into(),
            ..AuthorizationAttributes::default()
        };
        assert_eq!(
            path.forbidden_error(&user, "").message,
            "forbidden: User \"bob\" cannot get path \"/metrics\""
        );
    }
}
