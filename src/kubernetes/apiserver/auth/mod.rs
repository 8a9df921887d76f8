//! Authentication (users, tokens, impersonation) and authorization (RBAC).

pub(crate) mod bearer_token;
pub(crate) mod certificates;
pub(crate) mod credentials;
pub(crate) mod escalation_check;
pub(crate) mod impersonation;
mod policy_comparator;
pub(crate) mod rbac_authorizer;
pub(crate) mod rule_resolver;
pub(crate) mod service_account;
pub(crate) mod service_account_token;
pub(crate) mod token_authenticator;
pub(crate) mod user;
