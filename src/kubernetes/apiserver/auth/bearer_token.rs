//! Authentication by bearer token.

use http::header::AUTHORIZATION;
use http::request::Parts;

use super::service_account_token::ISSUER;
use super::token_authenticator::TokenAuthenticator;
use super::user::User;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// Authenticates a request by its bearer token. Without an Authorization header the user is
/// anonymous.
pub(crate) fn authenticate(
    head: &Parts,
    identity: &TokenAuthenticator,
    reader: &dyn ObjectReader,
    now: i64,
) -> Result<User, ApiError> {
    let Some(header) = head.headers.get(AUTHORIZATION) else {
        return Ok(User::anonymous());
    };
    let token = header.to_str().ok().and_then(|h| {
        let (scheme, token) = h.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let audiences = [ISSUER.to_owned()];
    token
        .and_then(|token| {
            let authenticated = identity.authenticate_token(token, &audiences, reader, now);
            Some(authenticated.ok()?.user)
        })
        .ok_or_else(unauthorized)
}

/// The 401 Unauthorized error.
pub(crate) fn unauthorized() -> ApiError {
    ApiError::new(401, StatusReason::Unauthorized, "Unauthorized")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::admission::plugins::fake::Objects;

    #[test]
    fn the_admin_token_authenticates_the_administrator() {
        let identity = TokenAuthenticator::generate();
        let with = |value: String| {
            let (head, ()) = Request::get("/")
                .header(AUTHORIZATION, value)
                .body(())
                .unwrap()
                .into_parts();
            authenticate(&head, &identity, &Objects::default(), 0)
        };
        assert!(
            with(format!("Bearer {}", identity.admin_token()))
                .unwrap()
                .is_system_masters()
        );
        assert_eq!(with("Bearer nonsense".into()).unwrap_err().code, 401);
        assert_eq!(with("Basic YTpi".into()).unwrap_err().code, 401);
    }
}
