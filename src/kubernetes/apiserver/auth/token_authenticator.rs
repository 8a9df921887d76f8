//! Authenticates bearer tokens of the administrator and of service accounts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRngCore;
use rand::rngs::OsRng;
use subtle::ConstantTimeEq;

use super::service_account::{user_of_claims, user_of_legacy_claims};
use super::service_account_token::{ISSUER, ServiceAccountTokenKey, TokenKeyError};
use super::user::User;
use crate::registry::object_reader::ObjectReader;

/// The credentials of the administrator and the key of service account tokens.
pub(crate) struct TokenAuthenticator {
    admin_token: String,
    service_account_key: ServiceAccountTokenKey,
}

impl TokenAuthenticator {
    /// Generates new credentials.
    pub(crate) fn generate() -> Self {
        let key = ServiceAccountTokenKey::generate();
        match key.and_then(|key| Self::new(random_token(), &key)) {
            Ok(authenticator) => authenticator,
            // A server without a random source cannot generate credentials and must not start.
            Err(e) => unreachable!("the operating system gives no random bytes: {e}"),
        }
    }

    /// The given credentials; the key of service account tokens is PKCS#8.
    ///
    /// # Errors
    /// [`TokenKeyError`] when the key cannot be used.
    pub(crate) fn new(
        admin_token: String,
        service_account_key: &[u8],
    ) -> Result<Self, TokenKeyError> {
        Ok(Self {
            admin_token,
            service_account_key: ServiceAccountTokenKey::from_pkcs8(service_account_key)?,
        })
    }

    /// The signing key of service account tokens.
    pub(crate) fn service_account_key(&self) -> &ServiceAccountTokenKey {
        &self.service_account_key
    }

    /// The bearer token of the administrator.
    pub(crate) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The user of a bearer token at `now` (Unix seconds), for one of `audiences`.
    ///
    /// # Errors
    /// [`InvalidToken`].
    pub(crate) fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
        reader: &dyn ObjectReader,
        now: i64,
    ) -> Result<AuthenticatedToken, InvalidToken> {
        if self.is_admin_token(token) {
            return Ok(AuthenticatedToken {
                user: User::admin(),
                audiences: audiences.to_vec(),
            });
        }
        let key = &self.service_account_key;
        let (user, own) = match key.verify_legacy(token) {
            Some(claims) => {
                let user = user_of_legacy_claims(reader, &claims, token, now);
                // Tokens of Secrets are for the API server only.
                (user, vec![ISSUER.to_owned()])
            }
            None => {
                let claims = key.verify(token, now).ok_or(InvalidToken::Unknown)?;
                let own = claims["aud"].as_array().into_iter().flatten();
                let own = own.filter_map(|a| a.as_str().map(str::to_owned)).collect();
                (user_of_claims(reader, &claims, now), own)
            }
        };
        let common: Vec<String> = (audiences.iter().filter(|a| own.contains(a)).cloned()).collect();
        if common.is_empty() {
            return Err(InvalidToken::Audience {
                own,
                target: audiences.to_vec(),
            });
        }
        let user = user.ok_or(InvalidToken::Unknown)?;
        Ok(AuthenticatedToken {
            user,
            audiences: common,
        })
    }

    /// Whether `token` is the administrator's, compared in constant time.
    pub(crate) fn is_admin_token(&self, token: &str) -> bool {
        self.admin_token.as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// The outcome of authenticating a token.
pub(crate) struct AuthenticatedToken {
    /// The user.
    pub(crate) user: User,
    /// The requested audiences that the token is for.
    pub(crate) audiences: Vec<String>,
}

/// The reason that a token is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidToken {
    /// It is not signed by this server, is expired, or its objects were deleted.
    #[error("invalid bearer token")]
    Unknown,
    /// It is for other audiences.
    #[error(
        "[invalid bearer token, token audiences {own:?} is invalid for the target audiences {target:?}]"
    )]
    Audience {
        /// The audiences of the token.
        own: Vec<String>,
        /// The audiences of the request.
        target: Vec<String>,
    },
}

/// 256 random bits, encoded as text.
pub(crate) fn random_token() -> String {
    let mut bytes = [0u8; 32];
    // A server without a random source cannot generate credentials and must not start.
    if let Err(e) = OsRng.try_fill_bytes(&mut bytes) {
        unreachable!("the operating system gives no random bytes: {e}");
    }
    URL_SAFE_NO_PAD.encode(bytes)
}
