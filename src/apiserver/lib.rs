//! An embedded Kubernetes API: storage, watch, discovery, patch, server-side apply, tables, OpenAPI,
//! CRDs. Knows nothing of Kueue: policy comes in through the traits in [`hooks`].
//!
//! Knows only [`kueue_lab_clock`], [`kueue_lab_entropy`], k8s-openapi and serde_json; must never import
//! `api`, `admission` or `controller`.

mod admission;
pub mod apimachinery;
pub mod auth;
mod bootstrap;
mod cel;
mod conversion;
pub mod crd;
mod endpoints;
pub mod fieldmanager;
pub mod http;
pub mod kinds;
mod metrics;
pub mod openapi;
pub mod patch;
pub mod plugins;
pub mod printers;
pub mod protobuf;
pub mod registry;
pub mod request;
pub mod schema;
pub mod server;
mod server_state;
pub mod storage;
pub mod strategy;
mod webhook_client;

pub use http::secure_serving::{ServeError, ServeOptions, ServingHandle};
pub use server::{ApiServer, ApiServerBuilder};
