//! [`Evaluator`]: upstream's `quota.Evaluator`.

use std::borrow::Borrow;

use jiff::Timestamp;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use crate::object_usage::ObjectUsage;
use crate::pod_requests::{self, ResourceList, add_resource_list};
use crate::scope::ScopeAttributes;
use crate::{claims, pods};

/// An evaluator of the quota usage of the objects of a resource.
pub enum Evaluator {
    /// Pods: count, and requests and limits of non-terminal pods.
    Pods,
    /// Services, their node ports and load balancers.
    Services,
    /// PersistentVolumeClaims and their storage, in total and by storage class.
    PersistentVolumeClaims,
    /// ResourceClaims and their devices by device class.
    ResourceClaims,
    /// Object count, under these quota resource names.
    Objects(Vec<String>),
}

impl Evaluator {
    /// The evaluator of a resource.
    pub fn of(group: &str, resource: &str) -> Self {
        match (group, resource) {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::PersistentVolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Self::ResourceClaims,
            ("", "replicationcontrollers" | "resourcequotas" | "secrets" | "configmaps") => {
                Self::Objects(vec![count_name(group, resource), resource.to_string()])
            }
            _ => Self::Objects(vec![count_name(group, resource)]),
        }
    }

    /// Whether a quota resource name applies to this resource.
    pub fn matches_resource(&self, name: &str) -> bool {
        match self {
            Self::Pods => pods::is_pod_resource(name),
            Self::Services => matches!(
                name,
                "count/services" | "services" | "services.nodeports" | "services.loadbalancers"
            ),
            Self::PersistentVolumeClaims => claims::is_volume_claim_resource(name),
            Self::ResourceClaims => claims::is_resource_claim_resource(name),
            Self::Objects(names) => names.iter().any(|n| n == name),
        }
    }

    /// The usage of one object.
    pub fn usage(&self, object: &Value) -> ObjectUsage {
        match self {
            Self::Pods => pods::pod_usage(object),
            Self::Services => ObjectUsage::stored(service(object)),
            Self::PersistentVolumeClaims => ObjectUsage {
                scopes: ScopeAttributes::of_volume_claim(object),
                ..ObjectUsage::stored(claims::volume_claim_usage(object))
            },
            Self::ResourceClaims => ObjectUsage::stored(claims::resource_claim_usage(object)),
            Self::Objects(names) => {
                ObjectUsage::stored(names.iter().map(|n| (n.clone(), one())).collect())
            }
        }
    }

    /// Whether usage depends on the content of objects, not only on their number.
    pub fn reads_content(&self) -> bool {
        !matches!(self, Self::Objects(_))
    }
}

pub(crate) fn one() -> Quantity {
    Quantity::from_value(1)
}

fn count_name(group: &str, resource: &str) -> String {
    if group.is_empty() {
        format!("count/{resource}")
    } else {
        format!("count/{resource}.{group}")
    }
}

/// The group and resource of a quota resource name.
pub fn resource_of(name: &str) -> (&str, &str) {
    if let Some(counted) = name.strip_prefix("count/") {
        let (resource, group) = counted.split_once('.').unwrap_or((counted, ""));
        return (group, resource);
    }
    match name {
        "replicationcontrollers" | "resourcequotas" | "secrets" | "configmaps" => ("", name),
        _ if Evaluator::Services.matches_resource(name) => ("", "services"),
        _ if Evaluator::PersistentVolumeClaims.matches_resource(name) => {
            ("", "persistentvolumeclaims")
        }
        _ if Evaluator::ResourceClaims.matches_resource(name) => {
            ("resource.k8s.io", "resourceclaims")
        }
        _ => ("", "pods"),
    }
}

/// The usage of a Service.
fn service(service: &Value) -> ResourceList {
    let mut used = ResourceList::new();
    used.insert("count/services".into(), one());
    used.insert("services".into(), one());
    let ports = i64::try_from(service.list("/spec/ports").len()).unwrap_or(i64::MAX);
    let (mut node_ports, mut balancers) = (0, 0);
    match service.text("/spec/type") {
        "NodePort" => node_ports = ports,
        "LoadBalancer" => {
            balancers = 1;
            if service.at("/spec/allocateLoadBalancerNodePorts") != &Value::Bool(false) {
                node_ports = ports;
            }
        }
        _ => {}
    }
    used.insert(
        "services.nodeports".into(),
        Quantity::from_value(node_ports),
    );
    used.insert(
        "services.loadbalancers".into(),
        Quantity::from_value(balancers),
    );
    used
}

/// The quantities of the resources that a quota limits.
pub fn mask(mut amounts: ResourceList, hard: &ResourceList) -> ResourceList {
    amounts.retain(|name, _| hard.contains_key(name));
    amounts
}

/// The hard limits of a quota.
pub fn hard_limits(quota: &Value) -> ResourceList {
    pod_requests::parse_resource_list(quota.at("/spec/hard"))
}

/// The usage of a quota with the limits `hard` by the objects of one resource in its namespace.
pub fn calculate_usage<U: Borrow<ObjectUsage>>(
    quota: &Value,
    hard: &ResourceList,
    usages: impl IntoIterator<Item = U>,
    now: Timestamp,
) -> ResourceList {
    let mut sum = ResourceList::new();
    for usage in usages {
        let usage = usage.borrow();
        if usage.matches_scopes(quota) {
            add_resource_list(&mut sum, &usage.at(now));
        }
    }
    mask(sum, hard)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(quota: &Value, resource: &str, objects: &[Value]) -> Vec<String> {
        let evaluator = Evaluator::of("", resource);
        let usages = objects.iter().map(|object| evaluator.usage(object));
        let hard = hard_limits(quota);
        let used = calculate_usage(quota, &hard, usages, Timestamp::UNIX_EPOCH);
        used.iter()
            .map(|(name, amount)| format!("{name}={amount}"))
            .collect()
    }

    #[test]
    fn terminal_pods_count_as_objects_only() {
        let pod = |phase: &str| {
            json!({"status": {"phase": phase}, "spec": {"containers": [
                {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]}})
        };
        let quota =
            json!({"spec": {"hard": {"pods": "2", "requests.cpu": "3", "count/pods": "9"}}});
        assert_eq!(
            usage(&quota, "pods", &[pod("Running"), pod("Succeeded")]),
            ["count/pods=2", "pods=1", "requests.cpu=2"]
        );
    }

    #[test]
    fn scopes_restrict_the_objects() {
        let quota =
            json!({"spec": {"hard": {"pods": "1", "secrets": "1"}, "scopes": ["BestEffort"]}});
        let burstable =
            json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}});
        let best_effort = json!({"spec": {"containers": [{}]}});
        assert_eq!(usage(&quota, "pods", &[burstable, best_effort]), ["pods=1"]);
        assert!(usage(&quota, "secrets", &[json!({})]).is_empty());
    }

    #[test]
    fn names_belong_to_resources() {
        for (name, resource) in [
            ("requests.nvidia.com/gpu", ("", "pods")),
            ("count/jobs.batch", ("batch", "jobs")),
            ("services.nodeports", ("", "services")),
            (
                "fast.storageclass.storage.k8s.io/requests.storage",
                ("", "persistentvolumeclaims"),
            ),
            ("secrets", ("", "secrets")),
        ] {
            assert_eq!(resource_of(name), resource, "{name}");
        }
    }
}
