//! Authentication (users, tokens, impersonation) and authorization (RBAC).

pub(crate) mod bearer_token;
pub(crate) mod impersonation;
pub(crate) mod rbac_authorizer;
pub(crate) mod service_account;
pub(crate) mod service_account_token;
pub(crate) mod token_authenticator;
pub(crate) mod user;
