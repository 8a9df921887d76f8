//! Subresource handlers.

mod binding;
mod connect_options;
mod container;
mod dispatch;
mod eviction;
mod pod_log;
mod proxy;
mod remote_command;
mod scale;
mod token_request;

pub(super) use binding::create_legacy_binding;

pub(super) use dispatch::handle;
pub(super) use remote_command::open_session;
pub(crate) use remote_command::session_limits;
