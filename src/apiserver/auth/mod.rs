//! Authentication (users, tokens, impersonation) and authorization (RBAC).

pub(crate) mod bearer_token;
pub(crate) mod impersonation;
pub(crate) mod rbac_authorizer;
pub(crate) mod service_account;
pub mod service_account_token;
pub mod token_authenticator;
pub mod user;
