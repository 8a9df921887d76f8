//! The built-in controllers on the embedded API server, from outside, in virtual time.

mod jobs;
mod support;
