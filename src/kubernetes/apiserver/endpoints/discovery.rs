//! API discovery, unaggregated and aggregated.

use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use serde_json::{Value, json};

use super::AuthenticatedRequest;
use super::aggregated_discovery::{encode_groups, encode_with_remote};
use super::aggregation;
use super::dispatch::not_served;
use super::response::ApiResponse;
use super::response_body::Body;
use crate::aggregator::RemoteApiServices;
use crate::registry::{EncodedDocument, ResourceTable, ServedGroup, ServedVersion};
use crate::request::ResponseForm;
use crate::request::content_negotiation::{EndpointRestrictions, MediaTypeOptions};
use crate::server_state::ServerState;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::group_version::api_version;
use kueue_lab_apimachinery::strategy::api_resource::ApiResource;

/// The content type of aggregated discovery.
const AGGREGATED_DISCOVERY_MEDIA_TYPE: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Handles `/api`, `/apis` and the group and version paths below them.
pub(super) fn handle(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    segments: &[&str],
) -> Result<ApiResponse, ApiError> {
    let accept = MediaTypeOptions::negotiate(incoming.accept(), EndpointRestrictions::Discovery)?;
    let table = core.registry.table();
    let value = match segments {
        ["api"] if accept.form == ResponseForm::Discovery => {
            let core_group = || table.groups().iter().filter(|group| group.name.is_empty());
            let document = table
                .core_document
                .get_or_init(|| encode_groups(core_group()));
            return Ok(document_response(incoming, document));
        }
        ["apis"] if accept.form == ResponseForm::Discovery => {
            let remote = &core.remote_api_services;
            if !remote.all().is_empty() {
                let document = encode_with_remote(table.groups(), remote);
                return Ok(document_response(incoming, &document));
            }
            let named = || table.groups().iter().filter(|group| !group.name.is_empty());
            let document = table.groups_document.get_or_init(|| encode_groups(named()));
            return Ok(document_response(incoming, document));
        }
        ["api"] => api_versions(incoming),
        ["apis"] => api_group_list(&table, &core.remote_api_services),
        ["api", version] => match api_resource_list(&table, "", version) {
            Some(list) => list,
            None => return not_served(core, ""),
        },
        ["apis", name] => match named_group(core, &table, name) {
            Some(mut value) => {
                value["kind"] = "APIGroup".into();
                value["apiVersion"] = "v1".into();
                value
            }
            None => return Ok(ApiResponse::page_not_found()),
        },
        ["apis", group, version] => match api_resource_list(&table, group, version) {
            Some(list) => list,
            None => return not_served(core, group),
        },
        _ => return Ok(ApiResponse::page_not_found()),
    };
    Ok(ApiResponse::value(
        200,
        MediaTypeOptions {
            form: ResponseForm::Object,
            ..accept
        },
        &value,
    ))
}

fn api_versions(incoming: &AuthenticatedRequest) -> Value {
    let host = incoming
        .parts
        .headers
        .get(http::header::HOST)
        .and_then(|h| h.to_str().ok());
    let authority = incoming
        .parts
        .uri
        .authority()
        .map(http::uri::Authority::as_str);
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": authority.or(host).unwrap_or_default()},
        ],
    })
}

/// The group of that name, with the versions of extension API servers.
fn named_group(core: &ServerState, table: &ResourceTable, name: &str) -> Option<Value> {
    let local = table.group(name).filter(|g| !g.name.is_empty());
    aggregation::api_group(&core.remote_api_services, name, local.map(api_group))
}

fn api_group_list(table: &ResourceTable, remote: &RemoteApiServices) -> Value {
    let groups = table.groups().iter().filter(|g| !g.name.is_empty());
    let mut groups: Vec<Value> = groups.map(api_group).collect();
    aggregation::api_group_list(remote, &mut groups);
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": groups,
    })
}

fn api_group(group: &ServedGroup) -> Value {
    let version = |v: &ServedVersion| json!({"groupVersion": api_version(&group.name, &v.name), "version": &*v.name});
    json!({
        "name": &*group.name,
        "versions": group.versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(version),
    })
}

/// The APIResourceList of one group version.
fn api_resource_list(table: &ResourceTable, group: &str, version: &str) -> Option<Value> {
    let found = table.group(group)?.version(version)?;
    let list: Vec<Value> = found
        .resources
        .iter()
        .flat_map(|s| legacy_entries(&s.kind))
        .collect();
    let mut value = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": list,
    });
    // The core group leaves `apiVersion` unset, as `/api/v1` does in Kubernetes.
    if !group.is_empty() {
        value["apiVersion"] = "v1".into();
    }
    Some(value)
}

fn legacy_entries(kind: &ApiResource) -> Vec<Value> {
    let mut main = json!({
        "name": &*kind.plural,
        "singularName": &*kind.singular,
        "namespaced": kind.namespaced,
        "kind": &*kind.kind,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        main["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        main["categories"] = json!(kind.categories);
    }
    if !kind.storage_version_hash.is_empty() {
        main["storageVersionHash"] = kind.storage_version_hash.as_str().into();
    }
    let mut all = vec![main];
    for sub in &kind.subresources {
        let mut entry = json!({
            "name": format!("{}/{}", kind.plural, sub.name),
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": &*sub.kind,
            "verbs": sub.verbs,
        });
        if !sub.group.is_empty() {
            entry["group"] = (*sub.group).into();
        }
        if !sub.version.is_empty() {
            entry["version"] = (*sub.version).into();
        }
        all.push(entry);
    }
    all
}

/// The aggregated document; 304 when `If-None-Match` equals its ETag.
fn document_response(incoming: &AuthenticatedRequest, document: &EncodedDocument) -> ApiResponse {
    let response = match incoming.header(&IF_NONE_MATCH) == document.etag {
        true => ApiResponse::empty(304),
        false => ApiResponse::new(
            200,
            AGGREGATED_DISCOVERY_MEDIA_TYPE,
            Body::from(document.json.clone()),
        ),
    };
    response
        .with_header(ETAG, &document.etag)
        .with_header(VARY, "Accept")
        .with_header(CACHE_CONTROL, "public")
}
