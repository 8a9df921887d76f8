//! The built-in resources.

use super::api_resource_row::{ApiResourceRow, SubresourceRow};
use super::cluster_resources::CLUSTER_RESOURCES;
use super::workload_resources::{CORE_RESOURCES, WORKLOAD_RESOURCES};
use crate::strategies::strategy_for_kind;
use kueue_lab_apimachinery::strategy::api_resource::{
    ApiResource, Subresource, storage_version_hash,
};

/// Returns every built-in resource in every served version. Groups are in the order of `/apis`,
/// versions with the preferred version first, resources in discovery order.
pub fn builtin_api_resources() -> Vec<ApiResource> {
    CORE_RESOURCES
        .iter()
        .chain(WORKLOAD_RESOURCES)
        .chain(CLUSTER_RESOURCES)
        .map(to_api_resource)
        .collect()
}

fn to_api_resource(row: &ApiResourceRow) -> ApiResource {
    let stored = row.storage_version.unwrap_or((row.group, row.version));
    let hash = match stored {
        ("", "") => String::new(),
        (group, version) => storage_version_hash(group, version, row.kind),
    };
    // If the hash is that of a version that is not served, objects are stored in the served
    // version.
    let storage_version = if stored.1.is_empty() || stored.1.contains("beta") {
        row.version
    } else {
        stored.1
    };
    let storage_group = if stored.1.is_empty() {
        row.group
    } else {
        stored.0
    };
    ApiResource {
        group: row.group.into(),
        version: row.version.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind).into(),
        plural: row.plural.into(),
        singular: row.kind.to_lowercase().into(),
        short_names: row.short.iter().map(ToString::to_string).collect(),
        categories: row.categories.iter().map(ToString::to_string).collect(),
        namespaced: row.namespaced,
        verbs: row.verbs.to_vec(),
        subresources: row
            .subresources
            .iter()
            .map(|sub| subresource(row, sub))
            .collect(),
        storage_group: storage_group.into(),
        storage_version: storage_version.into(),
        storage_version_hash: hash,
        schema: None,
        strategy: strategy_for_kind(row.group, row.version, row.kind, row.namespaced),
    }
}

pub(crate) fn subresource(
    row: &ApiResourceRow,
    &(name, (group, version, kind), verbs): &SubresourceRow,
) -> Subresource {
    let kind = if kind.is_empty() { row.kind } else { kind };
    Subresource {
        name,
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(group: &str, kind: &str) -> ApiResource {
        let all = builtin_api_resources();
        all.into_iter()
            .find(|k| &*k.group == group && &*k.kind == kind)
            .expect("a built-in kind")
    }

    #[test]
    fn storage_version_hashes_are_those_of_kubernetes() {
        for (group, kind, hash) in [
            ("", "ConfigMap", "qFsyl6wFWjQ="),
            ("", "Pod", "xPOwRZ+Yhw8="),
            ("events.k8s.io", "Event", "r2yiGXH7wu8="),
            ("autoscaling", "HorizontalPodAutoscaler", "qwQve8ut294="),
            (
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                "jfWCUB31mvA=",
            ),
            ("", "Binding", ""),
        ] {
            assert_eq!(
                find(group, kind).storage_version_hash,
                hash,
                "{group}/{kind}"
            );
        }
    }

    #[test]
    fn events_of_both_groups_are_one_store() {
        let event = find("events.k8s.io", "Event");
        assert_eq!((&*event.storage_group, &*event.storage_version), ("", "v1"));
        let crd = find("apiextensions.k8s.io", "CustomResourceDefinition");
        assert_eq!(
            (&*crd.storage_group, &*crd.storage_version),
            ("apiextensions.k8s.io", "v1")
        );
    }

    #[test]
    fn names_are_unique_within_a_group_version() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in builtin_api_resources() {
            assert!(seen.insert((
                kind.group.clone(),
                kind.version.clone(),
                kind.plural.clone()
            )));
            let mut names: Vec<_> = kind.subresources.iter().map(|s| s.name).collect();
            names.sort_unstable();
            let given: Vec<_> = kind.subresources.iter().map(|s| s.name).collect();
            assert_eq!(names, given, "{kind:?}: subresources are in order");
        }
    }
}
