//! Reading a request: its path, its options, the form of answer it accepts, its selectors.
//!
//! Pure parsing; must not know storage or kinds.

pub mod accept;
pub mod fields;
pub mod labels;
pub mod path;
pub mod query;

pub use accept::{Accept, Form};
pub use fields::FieldSelector;
pub use labels::LabelSelector;
pub use path::{RequestInfo, ResourcePath};
pub use query::Query;
