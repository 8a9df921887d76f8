//! An embedded Kubernetes API server: storage, watch, discovery, patch, server-side apply, tables,
//! OpenAPI, CustomResourceDefinitions, admission. Independent of Kueue: admission, conversion and
//! kubelets are provided through the traits of [`plugins`].
//!
//! Objects, schemas, patches and field management are in the crate `apimachinery`,
//! CustomResourceDefinitions and CEL in `apiextensions`, the built-in kinds in `kinds`.
//!
//! Imports between the folders go one way, lowest first: `openapi`, `protobuf`, `storage`, `registry`,
//! `request`, `service_client`, `auth`, `plugins`, `conversion`, `admission`, `aggregator`, `flow_control`,
//! `server_state` with `metrics`, `bootstrap`, `endpoints`, `http`, `server`.
//! `scripts/import-cycles.py` checks it.

mod admission;
mod aggregator;
mod auth;
mod bootstrap;
mod conversion;
mod endpoints;
mod flow_control;
#[cfg(test)]
mod fuzz_tests;
mod http;
#[cfg(test)]
mod linear_cost_tests;
mod metrics;
mod openapi;
pub mod plugins;
mod protobuf;
pub mod registry;
mod request;
mod server;
mod server_state;
mod service_client;
pub mod storage;

pub use auth::credentials::{Credentials, CredentialsError};
pub use endpoints::{LoadObjectError, UnknownFields};
pub use flow_control::request_limits::RequestLimits;
pub use http::secure_serving::{ServeError, ServeOptions, ServingHandle};
pub use server::{
    ApiServer, ApiServerBuilder, ApiServerSnapshot, Limit, PreinstalledKind, RestoreError, limits,
};
