//! Request parsing: path, query options, content negotiation, selectors.
//!
//! Pure parsing; does not depend on storage or kinds.

pub(crate) mod content_negotiation;
pub(crate) mod query;
pub(crate) mod request_info;

pub(crate) use content_negotiation::{MediaTypeOptions, ResponseForm};
pub(crate) use query::{Query, parse_int};
pub(crate) use request_info::{RequestInfo, ResourcePath};
