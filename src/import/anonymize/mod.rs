//! Replaces the names in a bundle by pseudonyms.

mod bundle;
mod pseudonyms;
mod strings;
mod walk;

pub use bundle::anonymize;
