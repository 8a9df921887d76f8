//! Usage of pods.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

use crate::evaluator::one;
use crate::object_usage::ObjectUsage;
use crate::pod_requests::{self, ResourceList};
use crate::resource_name::{is_extended, is_huge_page, is_native};
use crate::scope::ScopeAttributes;

/// Resources that each container must set if a quota limits them.
const ENFORCED_RESOURCES: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

/// Whether a quota resource name is computed from pods.
pub(crate) fn is_pod_resource(name: &str) -> bool {
    let plain = name.strip_prefix("requests.");
    let compute = |n: &str| matches!(n, "cpu" | "memory" | "ephemeral-storage");
    matches!(name, "pods" | "count/pods")
        || compute(name)
        || plain.is_some_and(|n| compute(n) || is_huge_page(n) || !is_native(n))
        || name.strip_prefix("limits.").is_some_and(compute)
        || is_huge_page(name)
}

/// The usage of a pod: the object count, and its requests and limits unless the pod is terminal or
/// its deletion grace period has expired (upstream's `QuotaV1Pod`).
pub(crate) fn pod_usage(pod: &Value) -> ObjectUsage {
    let mut usage = ObjectUsage::stored(ResourceList::from([("count/pods".into(), one())]));
    usage.scopes = ScopeAttributes::of_pod(pod);
    if !matches!(pod.text("/status/phase"), "Failed" | "Succeeded") {
        usage.charged = compute_usage(
            &pod_requests::pod_requests(pod, true),
            &pod_requests::pod_limits(pod, true),
        );
    }
    let grace = pod.at("/metadata/deletionGracePeriodSeconds").as_i64();
    let deletion_timestamp: Option<Timestamp> =
        pod.text("/metadata/deletionTimestamp").parse().ok();
    if let (Some(deletion_timestamp), Some(grace)) = (deletion_timestamp, grace) {
        let end = deletion_timestamp.checked_add(SignedDuration::from_secs(grace));
        usage.end_of_grace = Some(end.unwrap_or(Timestamp::MIN));
    }
    usage
}

/// Requests and limits by quota resource name.
fn compute_usage(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut used = ResourceList::new();
    used.insert("pods".into(), Quantity::from_value(1));
    for (name, amount) in requests {
        let native = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
        if native || is_huge_page(name) {
            used.insert(name.clone(), *amount);
        }
        if native || is_huge_page(name) || is_extended(name) {
            used.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = limits.get(name) {
            used.insert(format!("limits.{name}"), *amount);
        }
    }
    used
}

/// The limited resources that containers of a pod do not set, as an error message.
pub fn missing_requirements(limited: &[&str], pod: &Value) -> Option<String> {
    let must: Vec<&str> = limited
        .iter()
        .copied()
        .filter(|n| ENFORCED_RESOURCES.contains(n))
        .collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for list in ["/spec/containers", "/spec/initContainers"] {
        for container in pod.list(list) {
            let requests = pod_requests::parse_resource_list(container.at("/resources/requests"));
            let limits = pod_requests::parse_resource_list(container.at("/resources/limits"));
            let usage = compute_usage(&requests, &limits);
            for name in must.iter().filter(|n| !usage.contains_key(**n)) {
                missing
                    .entry(name)
                    .or_default()
                    .insert(container.text("/name"));
            }
        }
    }
    if missing.is_empty() {
        return None;
    }
    let parts: Vec<String> = missing
        .into_iter()
        .map(|(name, containers)| {
            let containers: Vec<&str> = containers.into_iter().collect();
            format!("{name} for: {}", containers.join(","))
        })
        .collect();
    Some(format!("must specify {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_quotas_about_pods() {
        for name in [
            "pods",
            "cpu",
            "requests.memory",
            "limits.cpu",
            "requests.nvidia.com/gpu",
            "hugepages-2Mi",
        ] {
            assert!(is_pod_resource(name), "{name}");
        }
        for name in [
            "services",
            "requests.storage",
            "nvidia.com/gpu",
            "limits.nvidia.com/gpu",
        ] {
            assert!(!is_pod_resource(name), "{name}");
        }
    }

    #[test]
    fn extended_resources_are_counted_as_requests() {
        let pod = json!({"spec": {"containers": [{"resources": {
            "requests": {"nvidia.com/gpu": "2", "cpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}}]}});
        let used = pod_usage(&pod).at(Timestamp::UNIX_EPOCH);
        let names: Vec<&str> = used.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "count/pods",
                "cpu",
                "pods",
                "requests.cpu",
                "requests.nvidia.com/gpu"
            ]
        );
    }

    #[test]
    fn a_pod_past_its_grace_period_is_not_charged() {
        let pod = json!({"metadata": {"deletionTimestamp": "1970-01-01T00:00:10Z",
            "deletionGracePeriodSeconds": 5}});
        let usage = pod_usage(&pod);
        let at = |s| {
            let used = usage.at(Timestamp::from_second(s).expect("a time"));
            used.contains_key("pods")
        };
        assert!(at(15) && !at(16));
    }
}
