//! The HTTP server of the API server, the kubelets, the webhooks, and the health and metrics
//! endpoints: a listener with optional TLS, limits on connections and headers, and graceful
//! shutdown.
//!
//! Must not depend on other crates of the lab or on the served APIs.

mod connection;
mod server;
mod service;

pub use connection::{PeerAddr, PeerCertificates};
pub use server::{HttpServer, Limits};
pub use service::HttpService;

#[cfg(test)]
mod tests;
