//! Discovery: what is served, in the legacy form and the aggregated one.

use serde_json::{Value, json};

use super::Incoming;
use super::reply::Reply;
use crate::http::Body;
use crate::kind::Kind;
use crate::registry::{Group, Served, Table, Version, api_version};
use crate::request::Form;
use crate::request::accept::{Accept, Views};
use crate::server::Core;
use crate::status::ApiError;

/// The content type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers `/api`, `/apis` and what is right below.
pub(super) fn answer(
    core: &Core,
    incoming: &Incoming,
    segments: &[&str],
) -> Result<Reply, ApiError> {
    let header = incoming.head.headers.get(http::header::ACCEPT);
    let header = header.and_then(|v| v.to_str().ok()).unwrap_or_default();
    let accept = Accept::negotiate(header, Views::Discovery)?;
    let table = core.registry.table();
    let value = match segments {
        ["api"] if accept.form == Form::Discovery => {
            return Ok(aggregated(
                table.groups().iter().filter(|g| g.name.is_empty()),
            ));
        }
        ["apis"] if accept.form == Form::Discovery => {
            return Ok(aggregated(
                table.groups().iter().filter(|g| !g.name.is_empty()),
            ));
        }
        ["api"] => versions(incoming),
        ["apis"] => groups(&table),
        ["api", version] => match resources(&table, "", version) {
            Some(list) => list,
            None => return Ok(Reply::page_not_found()),
        },
        ["apis", group] => match table.group(group).filter(|g| !g.name.is_empty()) {
            Some(group) => {
                let mut value = one_group(group);
                value["kind"] = "APIGroup".into();
                value["apiVersion"] = "v1".into();
                value
            }
            None => return Ok(Reply::page_not_found()),
        },
        ["apis", group, version] => match resources(&table, group, version) {
            Some(list) => list,
            None => return Ok(Reply::page_not_found()),
        },
        _ => return Ok(Reply::page_not_found()),
    };
    Ok(Reply::value(
        200,
        Accept {
            form: Form::Plain,
            ..accept
        },
        &value,
    ))
}

fn versions(incoming: &Incoming) -> Value {
    let host = incoming
        .head
        .headers
        .get(http::header::HOST)
        .and_then(|h| h.to_str().ok());
    let authority = incoming
        .head
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

fn groups(table: &Table) -> Value {
    let groups = table.groups().iter().filter(|g| !g.name.is_empty());
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": groups.map(one_group).collect::<Vec<_>>(),
    })
}

fn one_group(group: &Group) -> Value {
    let version = |v: &Version| json!({"groupVersion": api_version(&group.name, &v.name), "version": &*v.name});
    json!({
        "name": &*group.name,
        "versions": group.versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(version),
    })
}

/// The legacy list of one group version.
fn resources(table: &Table, group: &str, version: &str) -> Option<Value> {
    let found = table.group(group)?.version(version)?;
    let list: Vec<Value> = found
        .resources
        .iter()
        .flat_map(|s| legacy(&s.kind))
        .collect();
    let mut value = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": list,
    });
    // The core group answers as it did before lists had a version.
    if !group.is_empty() {
        value["apiVersion"] = "v1".into();
    }
    Some(value)
}

fn legacy(kind: &Kind) -> Vec<Value> {
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

fn aggregated<'a>(groups: impl Iterator<Item = &'a Group>) -> Reply {
    let items: Vec<Value> = groups.map(aggregated_group).collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    let bytes = serde_json::to_vec(&list).unwrap_or_default();
    Reply::new(200, AGGREGATED, Body::from(bytes::Bytes::from(bytes)))
}

fn aggregated_group(group: &Group) -> Value {
    let mut metadata = json!({});
    if !group.name.is_empty() {
        metadata["name"] = (*group.name).into();
    }
    let version = |v: &Version| {
        json!({
            "version": &*v.name,
            "freshness": "Current",
            "resources": v.resources.iter().map(|s| aggregated_resource(s)).collect::<Vec<_>>(),
        })
    };
    json!({
        "metadata": metadata,
        "versions": group.versions.iter().map(version).collect::<Vec<_>>(),
    })
}

fn aggregated_resource(served: &Served) -> Value {
    let kind = &served.kind;
    // Built-in kinds leave out what the place says already.
    let (group, version) = match served.custom {
        Some(_) => (&*kind.group, &*kind.version),
        None => ("", ""),
    };
    let mut value = json!({
        "resource": &*kind.plural,
        "responseKind": {"group": group, "version": version, "kind": &*kind.kind},
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*kind.singular,
        "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        value["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        value["categories"] = json!(kind.categories);
    }
    let subresources = kind.subresources.iter().map(|s| {
        json!({
            "subresource": s.name,
            "responseKind": {
                "group": if s.group.is_empty() { group } else { &*s.group },
                "version": if s.version.is_empty() { version } else { &*s.version },
                "kind": &*s.kind,
            },
            "verbs": s.verbs,
        })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        value["subresources"] = subresources.into();
    }
    value
}
