//! An embedded Kubernetes API: storage, watch, discovery, patch, server-side apply, tables, OpenAPI,
//! CRDs. Knows nothing of Kueue: policy comes in through the traits in [`hooks`].
//!
//! Knows only [`crate::clock`], [`crate::entropy`], k8s-openapi and serde_json; must never import
//! `api`, `admission` or `controller`.

pub mod field;
pub mod hooks;
pub mod kind;
pub mod kinds;
pub mod patch;
pub mod quantity;
pub mod schema;
pub mod status;
