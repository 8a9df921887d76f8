//! The embedded API server from outside: through a `kube::Client` in-process, and over TLS.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod admission;
mod custom;
mod deletion;
mod dynamic;
mod lists;
mod network;
mod objects;
mod subresources;
mod support;
mod watches;
