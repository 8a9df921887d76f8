//! The FlowSchema, the priority level and the flow of a request, `util/flowcontrol`.

use serde_json::Value;

use super::RequestAttributes;
use crate::auth::user::User;
use crate::bootstrap::{FLOW_CONTROL_GROUP, ensure_flow_control};
use crate::flow_control::seats::PriorityLevel;
use crate::registry::object_reader::ObjectReader;
use crate::request::{RequestInfo, ResourcePath};
use crate::server_state::ServerState;
use http::request::Parts;
use kueue_lab_json::ValueExt;

/// The classification of a request.
pub(crate) struct FlowControl {
    /// The name of the FlowSchema.
    pub(crate) flow_schema: String,
    pub(crate) flow_schema_uid: String,
    pub(crate) priority_level: PriorityLevel,
    pub(crate) priority_level_uid: String,
    /// The flow: the FlowSchema and the user or namespace that distinguishes its flows.
    pub(crate) flow: String,
}

/// The attributes of a request that FlowSchemas match (upstream `RequestDigest`).
struct RequestDigest<'a> {
    user: &'a User,
    verb: String,
    path: &'a str,
    resource: Option<&'a ResourcePath>,
}

/// Classifies a request; `total_seats` are those of all priority levels.
pub(crate) fn classify(
    core: &ServerState,
    head: &Parts,
    attributes: &RequestAttributes,
    user: &User,
    total_seats: usize,
) -> Option<FlowControl> {
    ensure_flow_control(core);
    let (verb, resource) = match &attributes.target {
        RequestInfo::NonResource(_) => (head.method.as_str().to_lowercase(), None),
        RequestInfo::Resource(resource) => (attributes.verb.to_owned(), Some(resource)),
    };
    let digest = RequestDigest {
        user,
        verb,
        path: head.uri.path(),
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
    let name = schema.text("/spec/priorityLevelConfiguration/name");
    let levels = objects.list(FLOW_CONTROL_GROUP, "prioritylevelconfigurations", "");
    let level = levels.iter().find(|level| level.name() == name)?;
    let distinguisher = match schema.text("/spec/distinguisherMethod/type") {
        "ByUser" => &user.name,
        "ByNamespace" => attributes.namespace(),
        _ => "",
    };
    Some(FlowControl {
        flow_schema: schema.name().into(),
        flow_schema_uid: schema.text("/metadata/uid").into(),
        priority_level: priority_level(level, &levels, total_seats),
        priority_level_uid: level.text("/metadata/uid").into(),
        flow: format!("{}/{distinguisher}", schema.name()),
    })
}

/// A level with its part of all seats.
fn priority_level(level: &Value, all: &[impl AsRef<Value>], total_seats: usize) -> PriorityLevel {
    let shares = |level: &Value| {
        let shares = level.int("/spec/limited/nominalConcurrencyShares");
        usize::try_from(shares).unwrap_or(0)
    };
    let sum: usize = all.iter().map(|level| shares(level.as_ref())).sum();
    let seats = total_seats
        .saturating_mul(shares(level))
        .div_ceil(sum.max(1));
    let is_exempt = level.text("/spec/type") == "Exempt";
    let response = "/spec/limited/limitResponse";
    let does_queue = level.text(&format!("{response}/type")) == "Queue";
    let queue = level.int(&format!("{response}/queuing/queueLengthLimit"));
    PriorityLevel {
        name: level.name().into(),
        seats: (!is_exempt).then_some(seats.max(1)),
        queue_length_limit: does_queue.then_some(usize::try_from(queue).unwrap_or(0)),
    }
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
        let Some(resource) = self.resource else {
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
