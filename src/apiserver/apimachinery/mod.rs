//! Metadata, selectors, field paths, names and errors of the API, as `k8s.io/apimachinery`.
//!
//! Must not depend on other modules of this crate.

pub mod api_error;
pub mod error_list;
pub mod field_path;
pub mod field_selector;
pub mod group_version;
pub mod ip_validation;
pub mod label_selector;
pub mod metadata_validation;
pub mod object_meta;
