//! The wire: response bodies, who may call, TLS, connections.
//!
//! Turns HTTP requests into calls of [`crate::handlers`] and their replies into HTTP.
//! Must not know storage or kinds.

pub mod body;
mod guard;
pub mod identity;
pub mod jwt;
pub mod kubeconfig;
pub mod serve;
pub mod service;
pub mod tls;

pub use body::Body;
