//! An embedded Kubernetes API server: storage, watch, discovery, patch, server-side apply, tables,
//! OpenAPI, CustomResourceDefinitions, admission. Independent of Kueue: admission, conversion and
//! kubelets are provided through the traits of [`plugins`].
//!
//! Within this workspace it depends on the crates `blocking`, `clock`, `cron`, `duration`, `entropy`, `field`,
//! `http`, `json`, `prometheus`, `quantity` and `quota` (tests: also `api`).
//!
//! Imports between the folders go one way, lowest first: `apimachinery`, `schema`, `strategy`,
//! `printers`, `cel`, `crd`, `kinds`, `fieldmanager`, `patch`, `openapi`, `protobuf`, `storage`,
//! `registry`, `request`, `service_client`, `auth`, `plugins`, `conversion`, `admission`, `aggregator`,
//! `flow_control`, `server_state` with `metrics`, `bootstrap`, `endpoints`, `http`, `server`.
//! `scripts/import-cycles.py` checks it.

mod admission;
mod aggregator;
pub mod apimachinery;
mod auth;
mod bootstrap;
mod cel;
mod conversion;
mod crd;
mod endpoints;
pub mod fieldmanager;
mod flow_control;
#[cfg(test)]
mod fuzz_tests;
mod http;
mod kinds;
mod metrics;
mod openapi;
mod patch;
pub mod plugins;
mod printers;
mod protobuf;
pub mod registry;
mod request;
pub mod schema;
mod server;
mod server_state;
mod service_client;
pub mod storage;
pub mod strategy;

pub use auth::credentials::{Credentials, CredentialsError};
pub use endpoints::{LoadObjectError, UnknownFields};
pub use flow_control::request_limits::RequestLimits;
pub use http::secure_serving::{ServeError, ServeOptions, ServingHandle};
pub use server::{ApiServer, ApiServerBuilder, ApiServerSnapshot, Limit, RestoreError, limits};
