//! The wire: response bodies, who may call, TLS, connections.
//!
//! Turns HTTP requests into calls of [`crate::handlers`] and their replies into HTTP.
//! Must not know storage or kinds.

pub mod authentication;
pub mod body;
pub mod kubeconfig;
mod request_filters;
pub mod secure_serving;
pub mod service_account_token;
pub mod tls;
pub mod tower_service;

pub use body::Body;
