//! A request after authentication.

use bytes::Bytes;
use http::header::{ACCEPT, HeaderName};
use http::request::Parts;

use crate::auth::user::User;

/// An authenticated request with its complete body.
pub(crate) struct AuthenticatedRequest {
    /// Method, URL and headers.
    pub parts: Parts,
    /// The body.
    pub body: Bytes,
    /// The authenticated user.
    pub user: User,
}

impl AuthenticatedRequest {
    /// The value of a header; empty if it is absent or not text.
    pub(super) fn header(&self, name: &HeaderName) -> &str {
        let value = self.parts.headers.get(name);
        value.and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The media types that the client accepts.
    pub(super) fn accept(&self) -> &str {
        self.header(&ACCEPT)
    }
}
