//! The FlowSchema and the priority level of a request, `util/flowcontrol`. Requests are not
//! queued; the response names both.

use http::request::Parts;
use serde_json::Value;

use super::dispatch::request_verb;
use crate::auth::user::User;
use crate::bootstrap::{FLOW_CONTROL_GROUP, ensure_flow_control};
use crate::registry::object_reader::ObjectReader;
use crate::request::{Query, RequestInfo, ResourcePath};
use crate::server_state::ServerState;
use kueue_lab_json::ValueExt;

/// The UIDs of the FlowSchema and the PriorityLevelConfiguration of a request.
pub(crate) struct FlowControl {
    pub(crate) flow_schema_uid: String,
    pub(crate) priority_level_uid: String,
}

/// What a request asks for, as FlowSchemas match it.
struct RequestDigest<'a> {
    user: &'a User,
    verb: String,
    path: &'a str,
    resource: Option<ResourcePath>,
}

/// Classifies a request.
pub(crate) fn classify(core: &ServerState, head: &Parts, user: &User) -> Option<FlowControl> {
    ensure_flow_control(core);
    let path = head.uri.path();
    let (verb, resource) = match RequestInfo::parse(path) {
        RequestInfo::NonResource(_) => (head.method.as_str().to_lowercase(), None),
        RequestInfo::Resource(resource) => {
            let query = Query::parse(head.uri.query().unwrap_or_default());
            let verb = request_verb(&head.method, &resource, &query).unwrap_or_default();
            (verb.to_owned(), Some(resource))
        }
    };
    let digest = RequestDigest {
        user,
        verb,
        path,
        resource,
    };
    let objects = core.objects();
    let schemas = objects.list(FLOW_CONTROL_GROUP, "flowschemas", "");
    let precedence = |s: &Value| s.int("/spec/matchingPrecedence");
    let matching = schemas.iter().filter(|s| digest.matches(s));
    let schema = matching.min_by(|a, b| {
        let by_precedence = precedence(a).cmp(&precedence(b));
        by_precedence.then_with(|| a.name().cmp(b.name()))
    })?;
    let level = schema.text("/spec/priorityLevelConfiguration/name");
    let level = objects.get(FLOW_CONTROL_GROUP, "prioritylevelconfigurations", "", level)?;
    Some(FlowControl {
        flow_schema_uid: schema.text("/metadata/uid").into(),
        priority_level_uid: level.text("/metadata/uid").into(),
    })
}

impl RequestDigest<'_> {
    fn matches(&self, schema: &Value) -> bool {
        let mut rules = schema.list("/spec/rules").iter();
        rules.any(|rule| {
            let mut subjects = rule.list("/subjects").iter();
            subjects.any(|s| self.is_subject(s)) && self.matches_rule(rule)
        })
    }

    fn is_subject(&self, subject: &Value) -> bool {
        let is = |wanted: &str, name: &str| wanted == "*" || wanted == name;
        match subject.text("/kind") {
            "User" => is(subject.text("/user/name"), &self.user.name),
            "Group" => {
                let group = subject.text("/group/name");
                self.user.groups.iter().any(|own| is(group, own))
            }
            _ => {
                let account = self.user.name.strip_prefix("system:serviceaccount:");
                let account = account.and_then(|account| account.split_once(':'));
                account.is_some_and(|(namespace, name)| {
                    subject.text("/serviceAccount/namespace") == namespace
                        && is(subject.text("/serviceAccount/name"), name)
                })
            }
        }
    }

    fn matches_rule(&self, rule: &Value) -> bool {
        let has = |rule: &Value, field: &str, wanted: &str| {
            let mut values = rule.list(field).iter();
            values.any(|v| v == "*" || v == wanted)
        };
        let Some(resource) = &self.resource else {
            let mut rules = rule.list("/nonResourceRules").iter();
            return rules.any(|rule| {
                let mut urls = rule
                    .list("/nonResourceURLs")
                    .iter()
                    .filter_map(Value::as_str);
                has(rule, "/verbs", &self.verb) && urls.any(|url| self.is_below(url))
            });
        };
        let name = match resource.subresource.as_str() {
            "" => resource.resource.clone(),
            subresource => format!("{}/{subresource}", resource.resource),
        };
        let mut rules = rule.list("/resourceRules").iter();
        rules.any(|rule| {
            let in_scope = match resource.namespace.as_str() {
                "" => rule.flag("/clusterScope"),
                namespace => has(rule, "/namespaces", namespace),
            };
            in_scope
                && has(rule, "/verbs", &self.verb)
                && has(rule, "/apiGroups", &resource.group)
                && has(rule, "/resources", &name)
        })
    }

    fn is_below(&self, url: &str) -> bool {
        match url.strip_suffix('*') {
            Some(prefix) => self.path.starts_with(prefix),
            None => self.path == url,
        }
    }
}
