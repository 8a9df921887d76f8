//! A request after authentication.

use bytes::Bytes;
use http::request::Parts;

use crate::auth::user::User;

/// A request that has been read completely, from a caller who is known.
pub struct AuthenticatedRequest {
    /// Method, URL and headers.
    pub parts: Parts,
    /// The body.
    pub body: Bytes,
    /// Who asks.
    pub user: User,
}
