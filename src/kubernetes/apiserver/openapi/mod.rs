//! OpenAPI documents of the API: an OpenAPI v3 document for each group version, and an aggregated
//! OpenAPI v2 document.
//!
//! Names, types and descriptions come from k8s-openapi, extensions from the tables in `schema`, and
//! custom resources from their own schemas. Documents are built on the first request. Must not
//! depend on storage or HTTP.

mod builtin;
mod custom;
mod descriptions;
mod documents;
mod extension_api;
#[cfg(test)]
mod generate;
mod gnostic;
mod openapi_v2;
mod openapi_v3;
mod operation;
mod paths;
mod property;
mod query_parameter;
mod source;

pub(crate) use custom::CustomSchema;
pub(crate) use gnostic::MEDIA_TYPE as PROTOBUF_V2;

pub(crate) use documents::Documents;
pub(crate) use extension_api::ExtensionOpenApi;

pub(crate) use source::OpenApiSource;
