//! Matches writes against the rules and conditions of webhooks and policies.

use std::sync::Arc;

use serde_json::Value;

use crate::auth::user::User;
use crate::plugins::{AdmissionRequest, Operation};
use crate::registry::object_reader::ObjectReader;
pub(crate) use kueue_lab_apiextensions::cel::activation::{
    Activation, EvaluationResult, ExpressionError, OutOfBudget,
};
pub(crate) use kueue_lab_apiextensions::cel::authorizer::Authorizer;
use kueue_lab_apiextensions::cel::cost::{self, CostBudget, OUT_OF_BUDGET};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::label_selector::LabelSelector;
use kueue_lab_json::ValueExt;

/// The attributes of one write, as webhooks and policies match them.
pub(crate) struct AdmissionAttributes<'a> {
    /// The admission request.
    pub request: &'a AdmissionRequest<'a>,
    /// The user who made the request.
    pub user: &'a User,
    /// The served versions of the kind.
    pub versions: &'a [String],
    /// The options of the operation, such as CreateOptions; null for a connection.
    pub options: &'a Value,
    /// Decides about the checks of `authorizer` in expressions.
    pub authorizer: &'a Arc<dyn Authorizer>,
    /// Reads stored objects.
    pub reader: &'a (dyn ObjectReader + Sync),
}

/// The operation as named in rules and reviews.
pub(crate) fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

impl AdmissionAttributes<'_> {
    /// Whether a webhook, or the `matchConstraints` or `matchResources` of a policy, matches the
    /// write. Returns the API version to convert the object to.
    ///
    /// # Errors
    /// 404 when the namespace does not exist.
    pub(crate) fn matching_version(
        &self,
        criteria: &Value,
        object: &Value,
    ) -> Result<Option<String>, ApiError> {
        let objects = LabelSelector::from_object(criteria.at("/objectSelector"));
        let old = self.request.old_object.unwrap_or(&Value::Null);
        if !objects.is_empty()
            && !selector_matches(&objects, object)
            && !selector_matches(&objects, old)
        {
            return Ok(None);
        }
        let equivalent = criteria.text("/matchPolicy") != "Exact";
        let excluded = criteria.list("/excludeResourceRules");
        if self.version_matching_rules(excluded, equivalent).is_some() {
            return Ok(None);
        }
        let version = if criteria.has("/clientConfig") {
            self.version_matching_rules(criteria.list("/rules"), equivalent)
        } else {
            match criteria.list("/resourceRules") {
                [] => Some(self.request.version.to_string()),
                rules => self.version_matching_rules(rules, equivalent),
            }
        };
        let Some(version) = version else {
            return Ok(None);
        };
        let namespaces = LabelSelector::from_object(criteria.at("/namespaceSelector"));
        Ok(self
            .namespace_matches(&namespaces, object)?
            .then_some(version))
    }

    /// The version in which a rule matches the resource; the version of the request is preferred.
    fn version_matching_rules(&self, rules: &[Value], equivalent: bool) -> Option<String> {
        let own = self.request.version;
        if rules.iter().any(|rule| self.rule_matches(rule, own)) {
            return Some(own.to_string());
        }
        let mut others = self.versions.iter().filter(|v| *v != own && equivalent);
        let found = others.find(|v| rules.iter().any(|rule| self.rule_matches(rule, v)));
        found.cloned()
    }

    fn rule_matches(&self, rule: &Value, version: &str) -> bool {
        let r = self.request;
        let any = |field: &str, wanted: &str| {
            let mut all = rule.list(field).iter();
            all.any(|n| n == "*" || n == wanted)
        };
        let resource = |named: &Value| {
            let named = named.as_str().unwrap_or_default();
            let (resource, sub) = named.split_once('/').unwrap_or((named, ""));
            (resource == "*" || resource == r.resource) && (sub == "*" || sub == r.subresource)
        };
        let names = rule.list("/resourceNames");
        let in_cluster = r.namespace.is_empty() || self.is_namespace();
        let scoped = match rule.text("/scope") {
            "Cluster" => in_cluster,
            "Namespaced" => !in_cluster,
            _ => true,
        };
        scoped
            && any("/operations", operation_name(r.operation))
            && any("/apiGroups", r.group)
            && any("/apiVersions", version)
            && rule.list("/resources").iter().any(resource)
            && (names.is_empty() || names.iter().any(|n| n == r.name))
    }

    fn is_namespace(&self) -> bool {
        self.request.group.is_empty() && self.request.resource == "namespaces"
    }

    fn namespace_matches(
        &self,
        selector: &LabelSelector,
        object: &Value,
    ) -> Result<bool, ApiError> {
        let r = self.request;
        if selector.is_empty() || (r.namespace.is_empty() && !self.is_namespace()) {
            return Ok(true);
        }
        if self.is_namespace() && r.subresource.is_empty() && object.is_object() {
            return Ok(selector_matches(selector, object));
        }
        let name = if self.is_namespace() {
            r.name
        } else {
            r.namespace
        };
        match self.reader.get("", "namespaces", "", name) {
            Some(namespace) => Ok(selector_matches(selector, &namespace)),
            None => Err(ApiError::not_found("", "namespaces", name)),
        }
    }

    /// Whether all match conditions are true. A false condition takes precedence over errors.
    ///
    /// # Errors
    /// The errors of conditions that fail to evaluate.
    pub(crate) fn match_conditions_met(
        &self,
        conditions: &[Value],
        names: &Activation,
    ) -> Result<bool, MatchConditionsError> {
        if conditions.is_empty() {
            return Ok(true);
        }
        cost::evaluate(|| evaluate_match_conditions(conditions, names))
    }
}

/// Why match conditions have no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum MatchConditionsError {
    /// They cost too much.
    #[error("{OUT_OF_BUDGET}")]
    OutOfBudget,
    /// The conditions that cannot be evaluated.
    #[error("{}", aggregate(.0))]
    Evaluation(Vec<ExpressionError>),
}

/// One error as it is, several as Go's aggregate prints them.
fn aggregate(errors: &[ExpressionError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

fn evaluate_match_conditions(
    conditions: &[Value],
    names: &Activation,
) -> Result<bool, MatchConditionsError> {
    let mut errors = Vec::new();
    let mut budget = CostBudget::match_conditions();
    for condition in conditions {
        let outcome = names.evaluate(condition.text("/expression"), &mut budget);
        match outcome.map_err(|OutOfBudget| MatchConditionsError::OutOfBudget)? {
            Ok(EvaluationResult::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(error) => errors.push(error),
        }
    }
    match errors.is_empty() {
        true => Ok(true),
        false => Err(MatchConditionsError::Evaluation(errors)),
    }
}

fn selector_matches(selector: &LabelSelector, object: &Value) -> bool {
    object.is_object() && selector.matches(|key| object.label(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kueue_lab_apiextensions::cel::authorizer::{AuthorizationCheck, CheckDecision};

    struct One(Value);

    impl ObjectReader for One {
        fn get(&self, _: &str, resource: &str, _: &str, name: &str) -> Option<Arc<Value>> {
            (resource == "namespaces" && self.0.name() == name).then(|| Arc::new(self.0.clone()))
        }

        fn list(&self, _: &str, _: &str, _: &str) -> Vec<Arc<Value>> {
            Vec::new()
        }
    }

    struct Denying;

    impl Authorizer for Denying {
        fn check(&self, _: &AuthorizationCheck) -> CheckDecision {
            CheckDecision {
                is_allowed: false,
                reason: String::new(),
            }
        }
    }

    fn selected(
        criteria: &Value,
        object: &Value,
        change: impl Fn(&mut AdmissionRequest<'_>),
    ) -> String {
        let mut request = AdmissionRequest {
            group: "batch",
            version: "v1",
            kind_group: "batch",
            kind_version: "v1",
            kind: "Job",
            resource: "jobs",
            subresource: "",
            namespace: "team",
            name: "j",
            operation: Operation::Create,
            old_object: None,
            dry_run: false,
            user: "u",
            user_id: "",
        };
        change(&mut request);
        let reader = One(json!({"metadata": {"name": "team", "labels": {"managed": "yes"}}}));
        let subject = AdmissionAttributes {
            request: &request,
            user: &User::admin(),
            versions: &["v1".into(), "v1beta1".into()],
            options: &Value::Null,
            authorizer: &(Arc::new(Denying) as Arc<dyn Authorizer>),
            reader: &reader,
        };
        match subject.matching_version(criteria, object) {
            Ok(Some(version)) => version,
            Ok(None) => "no".into(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn rules_and_selectors_decide_together() {
        let rule = |resources: Value, versions: Value| {
            json!({"operations": ["CREATE", "UPDATE"], "apiGroups": ["batch"],
                "apiVersions": versions, "resources": resources, "scope": "*"})
        };
        let hook = |rule: Value| json!({"clientConfig": {"url": "u"}, "rules": [rule]});
        let job = json!({"metadata": {"labels": {"app": "a"}}});
        let plain = |criteria: &Value| selected(criteria, &job, |_| ());
        assert_eq!(plain(&hook(rule(json!(["jobs"]), json!(["v1"])))), "v1");
        assert_eq!(plain(&hook(rule(json!(["*/*"]), json!(["*"])))), "v1");
        assert_eq!(
            plain(&hook(rule(json!(["jobs/status"]), json!(["v1"])))),
            "no"
        );
        assert_eq!(plain(&hook(rule(json!(["cronjobs"]), json!(["v1"])))), "no");
        // `matchPolicy: Equivalent` also matches other versions of the kind.
        let mut older = hook(rule(json!(["jobs"]), json!(["v1beta1"])));
        assert_eq!(plain(&older), "v1beta1");
        older["matchPolicy"] = "Exact".into();
        assert_eq!(plain(&older), "no");

        let jobs = hook(rule(json!(["jobs"]), json!(["v1"])));
        let delete = |r: &mut AdmissionRequest<'_>| r.operation = Operation::Delete;
        assert_eq!(selected(&jobs, &job, delete), "no");
        let with = |field: &str, labels: Value| {
            let mut jobs = jobs.clone();
            jobs[field] = json!({"matchLabels": labels});
            jobs
        };
        assert_eq!(plain(&with("objectSelector", json!({"app": "a"}))), "v1");
        assert_eq!(plain(&with("objectSelector", json!({"app": "b"}))), "no");
        assert_eq!(
            plain(&with("namespaceSelector", json!({"managed": "yes"}))),
            "v1"
        );
        assert_eq!(
            plain(&with("namespaceSelector", json!({"managed": "no"}))),
            "no"
        );
        let elsewhere = |r: &mut AdmissionRequest<'_>| r.namespace = "gone";
        let there = with("namespaceSelector", json!({"managed": "yes"}));
        assert_eq!(
            selected(&there, &job, elsewhere),
            "namespaces \"gone\" not found"
        );
    }

    #[test]
    fn policies_without_rules_match_all_but_excluded_resources() {
        let object = json!({"metadata": {}});
        assert_eq!(selected(&json!({}), &object, |_| ()), "v1");
        let rule = json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
            "resources": ["jobs"], "resourceNames": ["j"]});
        let excluding = json!({"excludeResourceRules": [rule]});
        assert_eq!(selected(&excluding, &object, |_| ()), "no");
        assert_eq!(selected(&excluding, &object, |r| r.name = "other"), "v1");
    }
}
