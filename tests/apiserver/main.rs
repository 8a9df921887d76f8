//! The embedded API server: in-process through a `kube::Client`, and over TLS.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

mod admission_plugins;
mod admission_policies_and_webhooks;
mod aggregated_apis;
mod authorization;
mod client_certificates;
mod conversion_by_service;
mod conversion_webhooks;
mod custom_resources;
mod deletion;
mod durable_writes;
mod extension_api_servers;
mod lists;
mod mutating_admission_policies;
mod object_histories;
mod objects;
mod pod_security;
mod protobuf;
mod proxies;
mod remote_commands;
mod request_paths;
mod secure_serving;
mod server_fixture;
mod service_account_secrets;
mod subresource_admission;
mod subresources;
mod tls_server;
mod watch_histories;
mod watches;
