//! Requests and limits of a pod: the maximum of the sum over its containers and the peak during its
//! init containers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::resource_name;
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
    let mut sum = aggregate_container_resources(pod, "/resources/requests");
    sum.extend(pod_level_resources(pod, "/spec/resources/requests"));
    if overhead {
        add_resource_list(&mut sum, &parse_resource_list(pod.at("/spec/overhead")));
    }
    sum
}

/// The limits of a pod, with or without the pod overhead.
pub fn pod_limits(pod: &Value, overhead: bool) -> ResourceList {
    let mut sum = aggregate_container_resources(pod, "/resources/limits");
    sum.extend(pod_level_resources(pod, "/spec/resources/limits"));
    if overhead {
        let limited = |name: &String| sum.get(name).is_some_and(|q| !q.is_zero());
        let overhead = parse_resource_list(pod.at("/spec/overhead")).into_iter();
        let overhead = overhead.filter(|(name, _)| limited(name)).collect();
        add_resource_list(&mut sum, &overhead);
    }
    sum
}

/// The pod-level resources (`spec.resources`) of the supported resource names.
fn pod_level_resources(pod: &Value, pointer: &str) -> ResourceList {
    let mut all = parse_resource_list(pod.at(pointer));
    all.retain(|name, _| {
        matches!(name.as_str(), "cpu" | "memory") || resource_name::is_huge_page(name)
    });
    all
}

fn aggregate_container_resources(pod: &Value, pointer: &str) -> ResourceList {
    let mut sum = ResourceList::new();
    for container in pod.list("/spec/containers") {
        add_resource_list(&mut sum, &parse_resource_list(container.at(pointer)));
    }
    // Init containers: sidecars keep running; each other init container runs with the sidecars
    // that precede it.
    let mut sidecars = ResourceList::new();
    let mut start = ResourceList::new();
    for container in pod.list("/spec/initContainers") {
        let mut requests = parse_resource_list(container.at(pointer));
        if container.text("/restartPolicy") == "Always" {
            add_resource_list(&mut sum, &requests);
            add_resource_list(&mut sidecars, &requests);
            requests.clone_from(&sidecars);
        } else {
            add_resource_list(&mut requests, &sidecars);
        }
        max_resource_list(&mut start, requests);
    }
    max_resource_list(&mut sum, start);
    sum
}

fn max_resource_list(most: &mut ResourceList, other: ResourceList) {
    for (name, amount) in other {
        match most.get(&name) {
            Some(had) if *had >= amount => {}
            _ => {
                most.insert(name, amount);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_largest_startup_requests_count() {
        let c = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = c("100m");
        sidecar["restartPolicy"] = "Always".into();
        let mut pod = json!({"spec": {"containers": [c("1"), c("1")],
            "initContainers": [sidecar, c("3")], "overhead": {"cpu": "1"}}});
        let cpu = |pod: &Value, overhead| pod_requests(pod, overhead)["cpu"].to_string();
        assert_eq!(cpu(&pod, false), "3100m");
        assert_eq!(cpu(&pod, true), "4100m");
        pod["spec"]["initContainers"][1] = c("500m");
        assert_eq!(cpu(&pod, false), "2100m");
        pod["spec"]["resources"] = json!({"requests": {"cpu": "5", "example.com/x": "1"}});
        assert_eq!(cpu(&pod, false), "5");
        assert_eq!(pod_requests(&pod, false).len(), 1);
        assert!(pod_limits(&pod, true).is_empty());
    }
}
