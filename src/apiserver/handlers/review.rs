//! Reviews: kinds that are never stored but answered: who am I, what may I do, whose token is this.

use serde_json::{Value, json};

use super::authorize::{Attributes, allowed, rules};
use super::call::Call;
use super::input;
use super::meta;
use super::options::WriteOptions;
use super::reply::Reply;
use crate::http::identity::User;
use crate::status::ApiError;

/// POST of a kind that is never stored.
pub(super) fn review(call: &Call<'_>) -> Result<Reply, ApiError> {
    let options = WriteOptions::of(call, "CreateOptions")?;
    let mut review = input::object(call, options.validation)?;
    input::check_api_version(call, &review)?;
    meta::meta_mut(&mut review).insert("creationTimestamp".into(), Value::Null);
    let user = &call.incoming.user;
    let status = match &*call.served.kind.kind {
        "SelfSubjectReview" => {
            let now = meta::time(call.core.clock.now());
            meta::meta_mut(&mut review).insert("creationTimestamp".into(), now);
            json!({"userInfo": shown(user)})
        }
        "SelfSubjectAccessReview" => access(call, user, &review["spec"]),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            access(call, &subject(&review["spec"]), &review["spec"])
        }
        "SelfSubjectRulesReview" => all_rules(call, user, &review["spec"]),
        "TokenReview" => token(call, &review["spec"]),
        _ => return Err(ApiError::method_not_allowed()),
    };
    review["status"] = status;
    Ok(Reply::value(201, call.view.accept, &review))
}

fn shown(user: &User) -> Value {
    let mut value = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        value["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        value["extra"] = json!(user.extra);
    }
    value
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_string()
}

fn subject(spec: &Value) -> User {
    let groups = spec["groups"].as_array().into_iter().flatten();
    User {
        name: text(spec, "user"),
        uid: text(spec, "uid"),
        groups: groups
            .filter_map(|g| Some(g.as_str()?.to_string()))
            .collect(),
        ..User::default()
    }
}

fn access(call: &Call<'_>, user: &User, spec: &Value) -> Value {
    let resource = &spec["resourceAttributes"];
    let path = &spec["nonResourceAttributes"];
    let asked = if resource.is_object() {
        Attributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: String::new(),
        }
    } else {
        Attributes {
            verb: text(path, "verb"),
            path: text(path, "path"),
            ..Attributes::default()
        }
    };
    json!({"allowed": allowed(call.core, user, &asked)})
}

fn all_rules(call: &Call<'_>, user: &User, spec: &Value) -> Value {
    let namespace = text(spec, "namespace");
    let mut found = rules(call.core, user, &namespace);
    if user.is_master() {
        found.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        found.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    let (paths, resources): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|r| r.get("nonResourceURLs").is_some());
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}

fn token(call: &Call<'_>, spec: &Value) -> Value {
    let identity = &call.core.identity;
    let token = text(spec, "token");
    let now = call.core.clock.now().as_second();
    match identity.user_of(&token, now) {
        Some(user) => json!({
            "authenticated": true,
            "user": shown(&user),
            "audiences": [crate::http::jwt::ISSUER],
        }),
        None => json!({"authenticated": false, "user": {}, "error": "invalid bearer token"}),
    }
}
