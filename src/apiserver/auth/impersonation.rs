//! Impersonation of other users, as `endpoints/filters/impersonation`.

use std::collections::BTreeMap;

use http::request::Parts;
use percent_encoding::percent_decode_str;

use super::user::User;
use crate::apimachinery::api_error::ApiError;

/// Replaces the user by the impersonated one, which only the administrator may do.
pub(crate) fn impersonate(head: &mut Parts, user: User) -> Result<User, ApiError> {
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
    if !user.is_system_masters() {
        return Err(ApiError::forbidden(
            "",
            "users",
            &name,
            &format!(
                "User {:?} cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
                user.name
            ),
        ));
    }
    let mut acting = User {
        name,
        groups,
        uid: uid.unwrap_or_default(),
        extra,
    };
    acting.add_implied_groups();
    Ok(acting)
}
