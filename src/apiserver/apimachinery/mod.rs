//! Metadata, selectors, field paths, names and errors of the API, as `k8s.io/apimachinery`.
//!
//! Must not depend on other modules of this crate.

pub mod api_error;
pub(crate) mod description_table;
pub(crate) mod error_list;
pub(crate) mod field_path;
pub(crate) mod field_selector;
pub(crate) mod group_version;
pub(crate) mod ip_validation;
pub(crate) mod label_selector;
pub(crate) mod metadata_validation;
pub(crate) mod object_meta;
pub(crate) mod webhook_validation;
