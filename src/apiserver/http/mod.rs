//! The wire: response bodies, who may call, TLS, connections.
//!
//! Turns HTTP requests into calls of [`crate::handlers`] and their replies into HTTP.
//! Must not know storage or kinds.

mod host_check;
pub mod kubeconfig;
pub mod secure_serving;
pub mod tls;
pub mod tower_service;
