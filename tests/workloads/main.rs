//! The built-in controllers on the embedded API server, from outside, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod deployments;
mod jobs;
mod keepers;
mod sets;
mod support;
