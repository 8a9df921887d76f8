//! Rejects roles and bindings with more permissions than their author has, as the storage of
//! `pkg/registry/rbac/*/policybased`.

use serde_json::Value;

use super::policy_comparator::{PolicyRule, compact_descriptions, quoted, uncovered};
use super::rbac_authorizer::{AuthorizationAttributes, authorize};
use super::rule_resolver::{GROUP, role_reference, rules_for};
use super::user::User;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;

/// A role or binding to write.
pub(crate) struct RbacWrite<'a> {
    /// The author.
    pub(crate) user: &'a User,
    /// Stored roles and bindings.
    pub(crate) reader: &'a dyn ObjectReader,
    /// Plural resource name.
    pub(crate) resource: &'a str,
    /// Namespace; empty at the cluster scope.
    pub(crate) namespace: &'a str,
    /// The stored object of an update.
    pub(crate) old: Option<&'a Value>,
    /// The object to write.
    pub(crate) new: &'a Value,
}

impl RbacWrite<'_> {
    /// Rejects rules that the author does not have, unless the author may `escalate` the role or
    /// `bind` the referenced role.
    ///
    /// # Errors
    /// 403 with the missing rules.
    pub(crate) fn confirm_no_escalation(&self) -> Result<(), ApiError> {
        if self.user.is_system_masters() || self.mutates_fields_of_garbage_collection_only() {
            return Ok(());
        }
        match self.resource {
            "roles" | "clusterroles" => self.check_role(),
            "rolebindings" | "clusterrolebindings" => self.check_binding(),
            _ => Ok(()),
        }
    }

    fn check_role(&self) -> Result<(), ApiError> {
        let name = object_meta::meta_str(self.new, "name");
        if self.is_authorized("escalate", self.resource, name) {
            return Ok(());
        }
        self.check_rules(&rules_of(self.new))?;
        if self.new["aggregationRule"]["clusterRoleSelectors"].is_array() {
            // An aggregation rule may select any role.
            let full = PolicyRule::full_authority();
            self.check_rules(&full).map_err(|_| {
                self.forbidden("must have cluster-admin privileges to use an aggregationRule")
            })?;
        }
        Ok(())
    }

    fn check_binding(&self) -> Result<(), ApiError> {
        let role_ref = &self.new["roleRef"];
        let name = role_ref["name"].as_str().unwrap_or_default();
        let resource = match role_ref["kind"].as_str() {
            Some("ClusterRole") => "clusterroles",
            Some("Role") => "roles",
            // Validation rejects other kinds.
            _ => return Ok(()),
        };
        if self.is_authorized("bind", resource, name) {
            return Ok(());
        }
        let role = role_reference(self.reader, role_ref, self.namespace)
            .map_err(|_| ApiError::not_found(GROUP, singular(resource), name))?;
        self.check_rules(&rules_of(&role))
    }

    fn is_authorized(&self, verb: &str, resource: &str, name: &str) -> bool {
        let attributes = AuthorizationAttributes {
            verb: verb.into(),
            group: GROUP.into(),
            resource: resource.into(),
            namespace: self.namespace.into(),
            name: name.into(),
            ..AuthorizationAttributes::default()
        };
        authorize(self.reader, self.user, &attributes).is_allowed
    }

    fn check_rules(&self, rules: &[PolicyRule]) -> Result<(), ApiError> {
        let (own, errors) = rules_for(self.reader, self.user, self.namespace);
        let own: Vec<_> = own.iter().map(PolicyRule::from_json).collect();
        let missing = uncovered(&own, rules);
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<_> = compact_descriptions(missing).into_iter().collect();
        let mut message = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            self.user.name,
            quoted(&self.user.groups),
            missing.join("\n")
        );
        if !errors.is_empty() {
            message.push_str(&format!("; resolution errors: [{}]", errors.join(" ")));
        }
        Err(self.forbidden(&message))
    }

    fn forbidden(&self, reason: &str) -> ApiError {
        let name = object_meta::meta_str(self.new, "name");
        ApiError::forbidden(GROUP, self.resource, name, reason)
    }

    /// Whether only owner references and finalizers change, as the garbage collector does.
    fn mutates_fields_of_garbage_collection_only(&self) -> bool {
        let Some(old) = self.old else {
            return false;
        };
        let rest = |object: &Value| {
            let mut object = object.clone();
            let meta = object_meta::meta_mut(&mut object);
            for field in [
                "ownerReferences",
                "finalizers",
                "selfLink",
                "managedFields",
                "resourceVersion",
                "generation",
            ] {
                meta.remove(field);
            }
            object
        };
        rest(old) == rest(self.new)
    }
}

fn singular(resource: &str) -> &str {
    resource.strip_suffix('s').unwrap_or(resource)
}

fn rules_of(role: &Value) -> Vec<PolicyRule> {
    let rules = role["rules"].as_array().into_iter().flatten();
    rules.map(PolicyRule::from_json).collect()
}
