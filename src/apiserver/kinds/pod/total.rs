//! What a whole pod asks for and is limited to: its containers together, or the hungriest moment of
//! its start.

use std::collections::BTreeMap;

use serde_json::Value;

use super::resources;
use crate::kinds::value::Look;
use kueue_lab_quantity::Quantity;

/// Amounts by name of resource.
pub type Amounts = BTreeMap<String, Quantity>;

/// Reads a list of amounts; what is no amount is left out.
pub fn amounts(list: &Value) -> Amounts {
    let entries = list.entries("");
    entries
        .filter_map(|(name, value)| Some((name.clone(), Quantity::of(value)?)))
        .collect()
}

/// Adds amounts to amounts.
pub fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let total = sum.get(name).map_or(*amount, |had| *had + *amount);
        sum.insert(name.clone(), total);
    }
}

/// What a pod asks for, with the overhead of its runtime or without.
pub fn requests(pod: &Value, overhead: bool) -> Amounts {
    let mut sum = of_containers(pod, "/resources/requests");
    sum.extend(of_pod(pod, "/spec/resources/requests"));
    if overhead {
        add(&mut sum, &amounts(pod.at("/spec/overhead")));
    }
    sum
}

/// What a pod is limited to, with the overhead of its runtime or without.
pub fn limits(pod: &Value, overhead: bool) -> Amounts {
    let mut sum = of_containers(pod, "/resources/limits");
    sum.extend(of_pod(pod, "/spec/resources/limits"));
    if overhead {
        let limited = |name: &String| sum.get(name).is_some_and(|q| !q.is_zero());
        let overhead = amounts(pod.at("/spec/overhead")).into_iter();
        let overhead = overhead.filter(|(name, _)| limited(name)).collect();
        add(&mut sum, &overhead);
    }
    sum
}

/// The amounts a pod states as a whole, of the resources it can state so.
fn of_pod(pod: &Value, pointer: &str) -> Amounts {
    let mut all = amounts(pod.at(pointer));
    all.retain(|name, _| {
        matches!(name.as_str(), "cpu" | "memory") || resources::is_huge_page(name)
    });
    all
}

fn of_containers(pod: &Value, pointer: &str) -> Amounts {
    let mut sum = Amounts::new();
    for container in pod.list("/spec/containers") {
        add(&mut sum, &amounts(container.at(pointer)));
    }
    // Containers that start before the others: sidecars stay, each of the rest runs alone with the
    // sidecars before it.
    let mut sidecars = Amounts::new();
    let mut start = Amounts::new();
    for container in pod.list("/spec/initContainers") {
        let mut moment = amounts(container.at(pointer));
        if container.text("/restartPolicy") == "Always" {
            add(&mut sum, &moment);
            add(&mut sidecars, &moment);
            moment.clone_from(&sidecars);
        } else {
            add(&mut moment, &sidecars);
        }
        largest(&mut start, moment);
    }
    largest(&mut sum, start);
    sum
}

fn largest(most: &mut Amounts, other: Amounts) {
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
    fn the_hungriest_moment_counts() {
        let c = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = c("100m");
        sidecar["restartPolicy"] = "Always".into();
        let mut pod = json!({"spec": {"containers": [c("1"), c("1")],
            "initContainers": [sidecar, c("3")], "overhead": {"cpu": "1"}}});
        let cpu = |pod: &Value, overhead| requests(pod, overhead)["cpu"].to_string();
        assert_eq!(cpu(&pod, false), "3100m");
        assert_eq!(cpu(&pod, true), "4100m");
        pod["spec"]["initContainers"][1] = c("500m");
        assert_eq!(cpu(&pod, false), "2100m");
        pod["spec"]["resources"] = json!({"requests": {"cpu": "5", "example.com/x": "1"}});
        assert_eq!(cpu(&pod, false), "5");
        assert_eq!(requests(&pod, false).len(), 1);
        assert!(limits(&pod, true).is_empty());
    }
}
