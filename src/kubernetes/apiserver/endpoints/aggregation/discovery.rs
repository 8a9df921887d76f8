//! The groups of extension API servers in discovery.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::aggregator::RemoteApiServices;
use crate::openapi::ExtensionOpenApi;

/// The OpenAPI v2 documents of extension API servers.
pub(in crate::endpoints) fn openapi_v2(services: &RemoteApiServices) -> Vec<Arc<ExtensionOpenApi>> {
    let services = services.all();
    services.iter().filter_map(|s| s.openapi_v2()).collect()
}

/// Adds the group versions of extension API servers to the groups of an `APIGroupList`.
pub(in crate::endpoints) fn api_group_list(services: &RemoteApiServices, groups: &mut Vec<Value>) {
    for service in services.all().iter() {
        let version = json!({
            "groupVersion": service.group_version(),
            "version": service.version,
        });
        let present = groups.iter_mut().find(|g| g["name"] == *service.group);
        match present.map(|group| &mut group["versions"]) {
            Some(Value::Array(versions)) if !versions.contains(&version) => versions.push(version),
            Some(_) => {}
            None => groups.push(json!({
                "name": service.group,
                "versions": [version],
                "preferredVersion": version,
            })),
        }
    }
}

/// The group `name` with the versions of extension API servers; `None` if they have none.
pub(in crate::endpoints) fn api_group(
    services: &RemoteApiServices,
    name: &str,
    local: Option<Value>,
) -> Option<Value> {
    let mut groups: Vec<Value> = local.into_iter().collect();
    api_group_list(services, &mut groups);
    groups.into_iter().find(|group| group["name"] == name)
}

/// Adds the OpenAPI v3 documents of extension API servers to the index of documents.
pub(in crate::endpoints) fn openapi_index(services: &RemoteApiServices, index: &mut Value) {
    for service in services.all().iter() {
        if let Some(url) = service.openapi_url() {
            let path = format!("apis/{}", service.group_version());
            index["paths"][path] = json!({"serverRelativeURL": url});
        }
    }
}

/// Adds the group versions of extension API servers to the groups of aggregated discovery.
pub(in crate::endpoints) fn aggregated_groups(
    services: &RemoteApiServices,
    groups: &mut Vec<Value>,
) {
    for service in services.all().iter() {
        let version = service.discovery();
        let mut present = groups.iter_mut();
        let present = present.find(|g| g["metadata"]["name"] == *service.group);
        match present.map(|group| &mut group["versions"]) {
            Some(Value::Array(versions)) => {
                versions.retain(|v| v["version"] != version["version"]);
                versions.push(version);
            }
            _ => groups.push(json!({
                "metadata": {"name": service.group},
                "versions": [version],
            })),
        }
    }
}
