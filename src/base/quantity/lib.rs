//! Exact Kubernetes quantities: `500m`, `1.5Gi`, `2e3`, and every other legal form.
//!
//! A value is an integer times a power of ten, so nothing is rounded that Kubernetes does not
//! round, and extreme amounts (`1e30`, `-1`, `1000000000Gi`) are plain numbers. Depends on no other
//! crate of the workspace.

mod quantity;

pub use quantity::{Format, Quantity, QuantityError};
