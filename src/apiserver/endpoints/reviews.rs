//! Review kinds, which are evaluated and never stored: SelfSubjectReview, access reviews,
//! TokenReview.

use serde_json::{Value, json};

use super::request_body;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::write_options::WriteOptions;
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::object_meta;
use crate::auth::rbac_authorizer::{AuthorizationAttributes, authorize, rules_for};
use crate::auth::user::User;

/// Handles POST of a review.
pub(super) fn create_review(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "CreateOptions")?;
    let mut review = request_body::decode_object(call, options.field_validation)?;
    request_body::check_api_version(call, &review)?;
    object_meta::meta_mut(&mut review).insert("creationTimestamp".into(), Value::Null);
    let user = &call.request.user;
    let status = match &*call.served.kind.kind {
        "SelfSubjectReview" => {
            let now = object_meta::metav1_time(call.core.clock.now());
            object_meta::meta_mut(&mut review).insert("creationTimestamp".into(), now);
            json!({"userInfo": user_info(user)})
        }
        "SelfSubjectAccessReview" => access_review_status(call, user, &review["spec"]),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            access_review_status(call, &user_from_spec(&review["spec"]), &review["spec"])
        }
        "SelfSubjectRulesReview" => rules_review_status(call, user, &review["spec"]),
        "TokenReview" => token_review_status(call, &review["spec"]),
        _ => return Err(ApiError::method_not_allowed()),
    };
    review["status"] = status;
    Ok(ApiResponse::value(201, call.transformer.accept, &review))
}

fn user_info(user: &User) -> Value {
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

fn user_from_spec(spec: &Value) -> User {
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

fn access_review_status(call: &RequestContext<'_>, user: &User, spec: &Value) -> Value {
    let resource = &spec["resourceAttributes"];
    let path = &spec["nonResourceAttributes"];
    let asked = if resource.is_object() {
        AuthorizationAttributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: String::new(),
        }
    } else {
        AuthorizationAttributes {
            verb: text(path, "verb"),
            path: text(path, "path"),
            ..AuthorizationAttributes::default()
        }
    };
    json!({"allowed": authorize(&call.core.objects(), user, &asked)})
}

fn rules_review_status(call: &RequestContext<'_>, user: &User, spec: &Value) -> Value {
    let namespace = text(spec, "namespace");
    let mut found = rules_for(&call.core.objects(), user, &namespace);
    if user.is_system_masters() {
        found.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        found.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    let (paths, resources): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|r| r.get("nonResourceURLs").is_some());
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}

fn token_review_status(call: &RequestContext<'_>, spec: &Value) -> Value {
    let identity = &call.core.authenticator;
    let token = text(spec, "token");
    let now = call.core.clock.now().as_second();
    match identity.authenticate_token(&token, now) {
        Some(user) => json!({
            "authenticated": true,
            "user": user_info(&user),
            "audiences": [crate::auth::service_account_token::ISSUER],
        }),
        None => json!({"authenticated": false, "user": {}, "error": "invalid bearer token"}),
    }
}
