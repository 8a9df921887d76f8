//! Runs expensive computations without blocking the threads of the async runtime that serve others.
//!
//! Must not know any other crate of the lab.

mod computation;
mod heavy_future;

pub use computation::compute;
pub use heavy_future::{HeavyWork, wait};
