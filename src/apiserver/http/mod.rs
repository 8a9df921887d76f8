//! Network serving: TLS, connections, the check of the Host header, the tower service.
//!
//! Authenticates requests and passes them to [`crate::endpoints`].
//! Does not depend on storage or kinds.

mod host_check;
pub mod kubeconfig;
pub mod secure_serving;
pub mod tls;
pub mod tower_service;
