//! The OpenAPI documents clients learn the API from: one of version 3 for each group and version, and
//! one of version 2 for all.
//!
//! Names, types and descriptions come from k8s-openapi, what Kubernetes adds to them from the tables
//! in `schema`; custom resources bring their own schema. Documents are built when first asked for.
//! Must not know storage or HTTP.

mod builtin;
mod custom;
mod documents;
mod gnostic;
mod openapi_v2;
mod openapi_v3;
mod operation;
mod paths;
mod property;
mod source;

pub use custom::CustomSchema;
pub use gnostic::MEDIA_TYPE as PROTOBUF_V2;

pub use documents::Documents;

pub use source::OpenApiSource;
