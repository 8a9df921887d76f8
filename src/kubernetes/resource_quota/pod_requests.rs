//! Resource lists of JSON objects, and the requests and limits of a pod as such lists.

use std::collections::BTreeMap;

use serde_json::Value;

use kueue_lab_component_helpers::resource;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

/// Quantities by resource name.
pub type ResourceList = BTreeMap<String, Quantity>;

/// Parses a resource list; invalid quantities are ignored.
pub fn parse_resource_list(list: &Value) -> ResourceList {
    let entries = list.entries("");
    entries
        .filter_map(|(name, value)| Some((name.clone(), Quantity::of(value)?)))
        .collect()
}

/// Adds a resource list to a sum.
pub fn add_resource_list(sum: &mut ResourceList, more: &ResourceList) {
    for (name, amount) in more {
        let total = sum.get(name).map_or(*amount, |had| *had + *amount);
        sum.insert(name.clone(), total);
    }
}

/// The requests of a pod, with or without the pod overhead.
pub fn pod_requests(pod: &Value, overhead: bool) -> ResourceList {
    owned(resource::pod_requests_of_json(pod.at("/spec"), overhead))
}

/// The limits of a pod, with or without the pod overhead.
pub fn pod_limits(pod: &Value, overhead: bool) -> ResourceList {
    owned(resource::pod_limits_of_json(pod.at("/spec"), overhead))
}

fn owned(list: resource::ResourceList<'_>) -> ResourceList {
    list.into_iter()
        .map(|(name, amount)| (name.to_owned(), amount))
        .collect()
}
