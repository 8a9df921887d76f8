//! The HTTP servers that images are known to run.

mod agnhost;
mod server;

pub(super) use server::{ServerContext, pod_server, serve};
