//! Rules about the source files that the compiler cannot check.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

mod field_pointers;
mod host_access;
mod program_sources;
