//! Impersonation of other users, as `endpoints/filters/impersonation`.

use std::collections::BTreeMap;

use http::request::Parts;
use percent_encoding::percent_decode_str;

use super::rbac_authorizer::{AuthorizationAttributes, authorize};
use super::user::User;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apimachinery::api_error::ApiError;

/// Replaces the user by the impersonated one, if the user may `impersonate` it, its groups, UID and
/// extra attributes.
///
/// # Errors
/// 403 for the first that is not allowed; 400 for groups, UID or extra attributes without a user.
pub(crate) fn impersonate(
    head: &Parts,
    reader: &dyn ObjectReader,
    user: User,
) -> Result<User, ApiError> {
    let headers = &head.headers;
    let text = |name: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .map(str::to_string)
    };
    let groups: Vec<String> = text("impersonate-group").collect();
    let uid = text("impersonate-uid").next();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        if let (Some(key), Ok(value)) = (
            name.as_str().strip_prefix("impersonate-extra-"),
            value.to_str(),
        ) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().push(value.to_string());
        }
    }
    let Some(name) = text("impersonate-user").next() else {
        if groups.is_empty() && extra.is_empty() && uid.is_none() {
            return Ok(user);
        }
        return Err(ApiError::bad_request(
            "requested [groups/extra/uid] without impersonating a user",
        ));
    };
    let mut checks = vec![user_attributes(&name)];
    checks.extend(
        groups
            .iter()
            .map(|group| attributes("", "groups", "", group)),
    );
    checks.extend(
        uid.iter()
            .map(|uid| attributes(AUTHENTICATION, "uids", "", uid)),
    );
    for (key, values) in &extra {
        let values = values.iter();
        checks.extend(values.map(|value| attributes(AUTHENTICATION, "userextras", key, value)));
    }
    for check in checks {
        let decision = authorize(reader, &user, &check);
        if !decision.is_allowed {
            return Err(check.forbidden_error(&user, &decision.reason));
        }
    }
    let mut impersonated_user = User {
        name,
        groups,
        uid: uid.unwrap_or_default(),
        extra,
    };
    impersonated_user.add_implied_groups();
    Ok(impersonated_user)
}

/// The API group of UIDs and extra attributes.
const AUTHENTICATION: &str = "authentication.k8s.io";

fn attributes(
    group: &str,
    resource: &str,
    subresource: &str,
    name: &str,
) -> AuthorizationAttributes {
    AuthorizationAttributes {
        verb: "impersonate".into(),
        group: group.into(),
        resource: resource.into(),
        subresource: subresource.into(),
        name: name.into(),
        ..AuthorizationAttributes::default()
    }
}

fn user_attributes(name: &str) -> AuthorizationAttributes {
    let account = name.strip_prefix("system:serviceaccount:");
    match account.and_then(|account| account.split_once(':')) {
        Some((namespace, account)) => AuthorizationAttributes {
            namespace: namespace.into(),
            ..attributes("", "serviceaccounts", "", account)
        },
        None => attributes("", "users", "", name),
    }
}
