//! Reading a request: its path, its options, the form of answer it accepts, its selectors.
//!
//! Pure parsing; must not know storage or kinds.

pub mod content_negotiation;
pub mod query;
pub mod request_info;

pub use content_negotiation::{MediaTypeOptions, ResponseForm};
pub use query::Query;
pub use request_info::{RequestInfo, ResourcePath};
