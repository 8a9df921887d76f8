//! The controller on the embedded API server, in virtual time: Workloads made by hand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod concurrent;
mod devices;
mod jobs;
mod moments;
mod pods;
mod serving;
mod world;
