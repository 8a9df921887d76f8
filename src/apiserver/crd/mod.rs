//! Custom resources: their definitions, and what their schemas ask of them.
//!
//! Works on objects and schemas; must not know storage, HTTP or watch.

mod cel;
pub mod check;
pub mod columns;
mod embedded;
mod formats;
pub mod jsonpath;
mod lists;
mod resource;
mod scale;
pub mod structural;
mod validate;

pub use cel::{Answer, Names};
pub use resource::{Resource, Version};
pub use scale::Paths;

#[cfg(test)]
mod tests;
