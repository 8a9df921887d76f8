//! Review kinds, which are evaluated and never stored: SelfSubjectReview, access reviews,
//! TokenReview.

use serde_json::{Value, json};

use super::request_body;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::write_options::WriteOptions;
use crate::auth::rbac_authorizer::{AuthorizationAttributes, authorize};
use crate::auth::rule_resolver::rules_for;
use crate::auth::service_account_token::ISSUER;
use crate::auth::user::User;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_field::FieldError;

/// Handles POST of a review.
pub(super) fn create_review(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "CreateOptions")?;
    let mut review = request_body::decode_object(call, options.field_validation)?;
    request_body::check_api_version(call, &review)?;
    object_meta::meta_mut(&mut review).insert("creationTimestamp".into(), Value::Null);
    let errors = validate_review(&call.served.kind.kind, &review);
    if !errors.is_empty() {
        return Err(ApiError::invalid("authorization.k8s.io", "", "", &errors));
    }
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

/// Validates an access review.
fn validate_review(kind: &str, review: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !kind.ends_with("SubjectAccessReview") {
        return errors;
    }
    let spec = &review["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if resource.is_object() && path.is_object() {
        let reason = "cannot be specified in combination with resourceAttributes";
        let field = "spec.nonResourceAttributes";
        errors.push(FieldError::invalid(field, path.clone(), reason));
    }
    if !resource.is_object() && !path.is_object() {
        let reason = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let field = "spec.resourceAttributes";
        errors.push(FieldError::invalid(field, Value::Null, reason));
    }
    let has_groups = spec["groups"].as_array().is_some_and(|g| !g.is_empty());
    if kind != "SelfSubjectAccessReview" && text(spec, "user").is_empty() && !has_groups {
        let reason = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", reason));
    }
    if kind == "LocalSubjectAccessReview" {
        let namespace = text(resource, "namespace");
        if resource.is_object() && namespace != object_meta::meta_str(review, "namespace") {
            let field = "spec.resourceAttributes.namespace";
            let reason = "must match metadata.namespace";
            errors.push(FieldError::invalid(field, namespace, reason));
        }
        if path.is_object() {
            let field = "spec.nonResourceAttributes";
            let reason = "disallowed on this kind of request";
            errors.push(FieldError::invalid(field, path.clone(), reason));
        }
    }
    errors
}

fn access_review_status(call: &RequestContext<'_>, user: &User, spec: &Value) -> Value {
    let resource = &spec["resourceAttributes"];
    let path = &spec["nonResourceAttributes"];
    let requested = if resource.is_object() {
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
    let decision = authorize(&call.core.objects(), user, &requested);
    match decision.reason.as_str() {
        "" => json!({"allowed": decision.is_allowed}),
        reason => json!({"allowed": decision.is_allowed, "reason": reason}),
    }
}

fn rules_review_status(call: &RequestContext<'_>, user: &User, spec: &Value) -> Value {
    let namespace = text(spec, "namespace");
    let (mut found, errors) = rules_for(&call.core.objects(), user, &namespace);
    if user.is_system_masters() {
        found.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        found.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
    }
    let (paths, resources): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|r| r.get("nonResourceURLs").is_some());
    let mut status =
        json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
    if let [first, rest @ ..] = errors.as_slice() {
        status["incomplete"] = true.into();
        status["evaluationError"] = match rest {
            [] => first.as_str().into(),
            _ => format!("[{}]", errors.join(", ")).into(),
        };
    }
    status
}

fn token_review_status(call: &RequestContext<'_>, spec: &Value) -> Value {
    let identity = &call.core.authenticator;
    let token = text(spec, "token");
    let now = call.core.clock.now().as_second();
    let requested = spec["audiences"].as_array().into_iter().flatten();
    let mut requested: Vec<String> = requested
        .filter_map(|a| a.as_str().map(str::to_owned))
        .collect();
    if requested.is_empty() {
        requested.push(ISSUER.to_owned());
    }
    match identity.authenticate_token(&token, &requested, &call.core.objects(), now) {
        Ok(token) => json!({
            "authenticated": true,
            "user": user_info(&token.user),
            "audiences": token.audiences,
        }),
        Err(error) => json!({"authenticated": false, "user": {}, "error": error.to_string()}),
    }
}
