//! Authenticates bearer tokens of the administrator and of service accounts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRngCore;
use rand::rngs::OsRng;
use subtle::ConstantTimeEq;

use super::service_account_token::ServiceAccountTokenKey;
use super::user::User;

/// The credentials of one server run.
pub(crate) struct TokenAuthenticator {
    admin_token: String,
    service_account_key: ServiceAccountTokenKey,
}

impl TokenAuthenticator {
    /// Generates new credentials.
    pub(crate) fn generate() -> Self {
        // A server without a random source cannot generate credentials and must not start.
        match ServiceAccountTokenKey::generate() {
            Ok(tokens) => Self {
                admin_token: random_token(),
                service_account_key: tokens,
            },
            Err(e) => unreachable!("the operating system gives no random bytes: {e}"),
        }
    }

    /// The signing key of service account tokens.
    pub(crate) fn service_account_key(&self) -> &ServiceAccountTokenKey {
        &self.service_account_key
    }

    /// The bearer token of the administrator.
    pub(crate) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The user of a bearer token at `now` (Unix seconds).
    pub(crate) fn authenticate_token(&self, token: &str, now: i64) -> Option<User> {
        if self.is_admin_token(token) {
            return Some(User::admin());
        }
        let claims = self.service_account_key.verify(token, now)?;
        let name = claims["sub"].as_str()?.to_string();
        let account = &claims["kubernetes.io"]["serviceaccount"];
        let uid = account["uid"].as_str().unwrap_or_default().to_string();
        let mut user = User {
            name,
            uid,
            ..User::default()
        };
        user.add_implied_groups();
        Some(user)
    }

    /// Whether `token` is the administrator's, compared in constant time.
    pub(crate) fn is_admin_token(&self, token: &str) -> bool {
        self.admin_token.as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// 256 random bits, encoded as text.
fn random_token() -> String {
    let mut bytes = [0u8; 32];
    // A server without a random source cannot generate credentials and must not start.
    if let Err(e) = OsRng.try_fill_bytes(&mut bytes) {
        unreachable!("the operating system gives no random bytes: {e}");
    }
    URL_SAFE_NO_PAD.encode(bytes)
}
