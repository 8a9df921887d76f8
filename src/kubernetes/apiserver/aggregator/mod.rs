//! APIServices of extension API servers in other processes, with their availability and discovery.

mod discovery_document;
mod remote_api_service;
mod remote_api_services;

pub(crate) use discovery_document::version_discovery;
pub(crate) use remote_api_service::{DiscoveredResources, RemoteApiService};
pub(crate) use remote_api_services::RemoteApiServices;
