//! Request parsing: path, query options, content negotiation, selectors.
//!
//! Pure parsing; does not depend on storage or kinds.

pub mod content_negotiation;
pub mod query;
pub mod request_info;

pub use content_negotiation::{MediaTypeOptions, ResponseForm};
pub use query::Query;
pub use request_info::{RequestInfo, ResourcePath};
