//! A request after authentication.

use bytes::Bytes;
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
