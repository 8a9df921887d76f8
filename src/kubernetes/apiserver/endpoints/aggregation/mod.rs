//! Aggregation: requests to extension API servers, the Available condition of their APIServices,
//! and their groups in discovery.

mod availability;
mod discovery;
mod in_process;
mod proxy;

pub(super) use availability::{check_services, sync_api_service, sync_api_services};
pub(super) use discovery::{
    aggregated_groups, api_group, api_group_list, openapi_index, openapi_v2,
};
pub(super) use in_process::handle;
pub(super) use proxy::{ProxiedRequest, proxy};
