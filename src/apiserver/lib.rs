//! An embedded Kubernetes API: storage, watch, discovery, patch, server-side apply, tables, OpenAPI,
//! CRDs. Knows nothing of Kueue: policy comes in through the traits in [`hooks`].
//!
//! Knows only [`kueue_lab_clock`], [`kueue_lab_entropy`], k8s-openapi and serde_json; must never import
//! `api`, `admission` or `controller`.

mod bootstrap;
mod convert;
pub mod crd;
mod dynamic;
pub mod field;
mod handlers;
pub mod hooks;
pub mod http;
mod install;
pub mod kind;
pub mod kinds;
pub mod managed;
mod metrics;
pub mod openapi;
pub mod patch;
pub mod policy;
pub mod protobuf;
pub mod registry;
pub mod request;
pub mod schema;
pub mod server;
pub mod status;
pub mod store;

pub use http::serve::{ServeError, ServeOptions, Serving};
pub use server::{ApiServer, Builder};
