//! API machinery: metadata, selectors, field paths and errors of API objects
//! (`k8s.io/apimachinery`), structural schemas of the built-in types, patches, and field management
//! with server-side apply (`structured-merge-diff`).
//!
//! Works on JSON values and schemas; depends on neither storage nor HTTP nor particular kinds.

pub mod admission_request;
pub mod api_error;
pub mod description_table;
pub mod error_list;
pub mod field_path;
pub mod field_selector;
pub mod fieldmanager;
#[cfg(test)]
mod fuzz_tests;
pub mod group_version;
pub mod ip_validation;
pub mod label_selector;
pub mod metadata_validation;
pub mod object_meta;
pub mod patch;
pub mod schema;
pub mod status_reason;
pub mod strategy;
pub mod watch;
pub mod webhook_validation;
