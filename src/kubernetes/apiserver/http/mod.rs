//! Network serving: TLS, connections, the check of the Host header, the tower service.
//!
//! Authenticates requests and passes them to [`crate::endpoints`].
//! Does not depend on storage or kinds.

mod audit_id;
mod body_reader;
mod filter;
mod gzip;
mod heavy_flow;
mod host_check;
pub(crate) mod kubeconfig;
mod priority_and_fairness;
mod request_deadline;
mod request_stack;
pub(crate) mod secure_serving;
mod serving_runtime;
pub(crate) mod tls;
pub(crate) mod tower_service;

pub(crate) use body_reader::BODY_LIMIT;
pub(crate) use secure_serving::LISTENER_LIMITS;
