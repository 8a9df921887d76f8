//! The built-in controllers on the embedded API server, from outside, in virtual time.

mod control;
mod deployments;
mod jobs;
mod support;
