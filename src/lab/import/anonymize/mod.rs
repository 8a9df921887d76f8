//! Replaces the names in a bundle by pseudonyms.

mod bundle;
mod configuration;
mod devices;
mod fields;
mod pseudonyms;
mod strings;
mod topology_assignment;
mod visit_names;

pub use bundle::anonymize;
