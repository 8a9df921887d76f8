//! The documents of aggregated discovery, `apidiscovery.k8s.io/v2`.
//!
//! The members of objects are in alphabetical order, as in all JSON of this server.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha512};

use super::aggregation;
use crate::aggregator::RemoteApiServices;
use crate::registry::{EncodedDocument, ServedGroup, ServedResource};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupDiscoveryList<G> {
    api_version: &'static str,
    items: Vec<G>,
    kind: &'static str,
    metadata: Metadata<'static>,
}

#[derive(Serialize)]
struct Metadata<'t> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'t str,
}

#[derive(Serialize)]
struct GroupDiscovery<'t> {
    metadata: Metadata<'t>,
    versions: Vec<VersionDiscovery<'t>>,
}

#[derive(Serialize)]
struct VersionDiscovery<'t> {
    freshness: &'static str,
    resources: Vec<ResourceDiscovery<'t>>,
    version: &'t str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'t> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'t [String],
    resource: &'t str,
    response_kind: ResponseKind<'t>,
    scope: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'t [String],
    singular_resource: &'t str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery<'t>>,
    verbs: &'t [&'static str],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery<'t> {
    response_kind: ResponseKind<'t>,
    subresource: &'static str,
    verbs: &'static [&'static str],
}

#[derive(Serialize)]
struct ResponseKind<'t> {
    group: &'t str,
    kind: &'t str,
    version: &'t str,
}

/// The document of groups of this server.
pub(super) fn encode_groups<'t>(groups: impl Iterator<Item = &'t ServedGroup>) -> EncodedDocument {
    encode(groups.map(group_discovery).collect::<Vec<_>>())
}

/// The document of the named groups of this server and of extension API servers in other processes.
pub(super) fn encode_with_remote(
    groups: &[ServedGroup],
    remote: &RemoteApiServices,
) -> EncodedDocument {
    let named = groups.iter().filter(|group| !group.name.is_empty());
    // Writing JSON to memory cannot fail.
    let value = |group| serde_json::to_value(group_discovery(group)).unwrap_or_default();
    let mut values: Vec<Value> = named.map(value).collect();
    aggregation::aggregated_groups(remote, &mut values);
    encode(values)
}

fn encode(items: Vec<impl Serialize>) -> EncodedDocument {
    let list = GroupDiscoveryList {
        api_version: "apidiscovery.k8s.io/v2",
        items,
        kind: "APIGroupDiscoveryList",
        metadata: Metadata { name: "" },
    };
    let json = serde_json::to_vec(&list).unwrap_or_default();
    let etag = format!("\"{}\"", hex_upper(&Sha512::digest(&json)));
    EncodedDocument {
        json: json.into(),
        etag,
    }
}

fn hex_upper(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn group_discovery(group: &ServedGroup) -> GroupDiscovery<'_> {
    let versions = group.versions.iter().map(|version| VersionDiscovery {
        freshness: "Current",
        resources: version
            .resources
            .iter()
            .map(|r| resource_discovery(r))
            .collect(),
        version: &version.name,
    });
    GroupDiscovery {
        metadata: Metadata { name: &group.name },
        versions: versions.collect(),
    }
}

fn resource_discovery(served: &ServedResource) -> ResourceDiscovery<'_> {
    let kind = &served.kind;
    // Built-in kinds omit group and version, which equal those of the path.
    let (group, version) = match served.custom {
        Some(_) => (&*kind.group, &*kind.version),
        None => ("", ""),
    };
    let subresources = kind.subresources.iter();
    let subresources = subresources.map(|own| SubresourceDiscovery {
        response_kind: ResponseKind {
            group: own_or_parent(&own.group, group),
            kind: &own.kind,
            version: own_or_parent(&own.version, version),
        },
        subresource: own.name,
        verbs: own.verbs,
    });
    ResourceDiscovery {
        categories: &kind.categories,
        resource: &kind.plural,
        response_kind: ResponseKind {
            group,
            kind: &kind.kind,
            version,
        },
        scope: if kind.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        },
        short_names: &kind.short_names,
        singular_resource: &kind.singular,
        subresources: subresources.collect(),
        verbs: &kind.verbs,
    }
}

fn own_or_parent<'t>(own: &'t str, parent: &'t str) -> &'t str {
    match own {
        "" => parent,
        own => own,
    }
}
