//! HTTPS client of admission and conversion webhooks.

pub(crate) mod client_manager;
