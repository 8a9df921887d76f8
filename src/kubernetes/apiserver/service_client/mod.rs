//! HTTPS clients of Services and URLs: webhooks and extension API servers.

pub(crate) mod client_manager;
mod dial_error;
mod server_response;
pub(crate) mod service_resolver;
pub(crate) mod webhook_target;
