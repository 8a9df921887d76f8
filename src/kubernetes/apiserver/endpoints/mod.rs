//! Request handlers: one file per verb, and shared helpers.
//!
//! Depends on storage, registry and parsed requests, not on sockets or TLS.

mod admission_chain;
mod after_commit;
mod aggregated_discovery;
mod aggregation;
mod authenticated_request;
mod certificate_approval;
mod certificate_signing;
mod configured_admission;
mod continue_token;
pub(super) mod crd_lifecycle;
mod create;
mod delete;
mod delete_options;
mod deletion_effect;
mod discovery;
mod dispatch;
mod durable_write;
mod event_ttl;
pub(super) mod flow_control;
mod get;
mod graceful_deletion;
mod guaranteed_update;
mod list;
mod load_objects;
mod managed_fields;
mod namespace_deletion;
mod non_resource_paths;
mod openapi;
mod patch;
mod pending_object;
mod policy_input;
mod policy_status;
mod request_attributes;
mod request_authorizer;
mod request_body;
mod request_context;
mod resource_version;
mod response;
pub(crate) mod response_body;
mod response_transformer;
mod restore;
mod reviews;
mod scale_conversion;
mod selected_event;
mod selection_predicate;
mod service_account_secrets;
mod stored_update;
mod subresource;
mod update;
mod watch;
mod watch_values;
mod write_options;

pub(crate) use authenticated_request::AuthenticatedRequest;

pub(crate) use request_attributes::RequestAttributes;

pub(super) use dispatch::{authorize, error_response, handle, rejection};
pub use load_objects::{LoadObjectError, UnknownFields};

pub(super) use load_objects::load_objects;
pub(super) use restore::{restore_api_services, restore_derived_state};
pub(super) use subresource::session_limits;
