//! The HTTP server of the API server, the kubelets, the webhooks, and the health and metrics
//! endpoints: a listener with optional TLS, limits on connections and headers, and graceful
//! shutdown. HTTP/1 connections within the process, and a TLS client for servers whose certificates
//! are not verified.
//!
//! Must not depend on other crates of the lab or on the served APIs.

mod certificate_subject;
mod client_stream;
mod connection;
mod connection_pool;
mod descriptors;
mod idle_connections;
mod memory_connection;
pub mod prometheus_text_format;
mod server;
mod service;
mod tls_client;

pub use certificate_subject::CertificateSubject;
pub use connection::{PeerAddr, PeerCertificates};
pub use connection_pool::{ConnectionSlot, UnauthenticatedLimits};
pub use descriptors::raise_descriptor_limit;
pub use memory_connection::{memory_connection, serve_http1, text_response};
pub use server::{HttpServer, Limits};
pub use service::HttpService;
pub use tls_client::{TlsConnectError, connect_tls, connect_tls_insecure};

#[cfg(test)]
mod tests;
