//! Subresource handlers.

mod binding;
mod connect;
mod dispatch;
mod eviction;
mod pod_log;
mod scale;
mod service_proxy;
mod token_request;

pub(super) use binding::create_legacy_binding;

pub(super) use dispatch::answer;
