//! HTTPS client of admission and conversion webhooks.

pub mod client_manager;
