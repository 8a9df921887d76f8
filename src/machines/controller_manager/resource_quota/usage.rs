//! The quota usage of objects. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, PersistentVolumeClaim, Pod, ResourceQuotaSpec, ScopedResourceSelectorRequirement,
    Service,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use kube::ResourceExt;

use crate::workload_controllers::pods;
use kueue_lab_quantity::Quantity;

/// Amounts by name.
pub(super) type ResourceList = BTreeMap<String, Quantity>;

const CLASS: &str = ".storageclass.storage.k8s.io/";

/// The group and plural name of the resource that a quota name counts.
pub(super) fn resource_of(name: &str) -> (String, String) {
    let core = |plural: &str| (String::new(), plural.to_string());
    if let Some(counted) = name.strip_prefix("count/") {
        let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
        return (group.to_string(), plural.to_string());
    }
    let plain = name.split_once(CLASS).map_or(name, |(_, field)| field);
    match plain {
        "replicationcontrollers" | "resourcequotas" | "secrets" | "configmaps" => core(plain),
        "services" | "services.nodeports" | "services.loadbalancers" => core("services"),
        "persistentvolumeclaims" | "requests.storage" => core("persistentvolumeclaims"),
        _ => core("pods"),
    }
}

/// Adds amounts to a sum.
pub(super) fn add(sum: &mut ResourceList, more: ResourceList) {
    for (name, amount) in more {
        *sum.entry(name).or_default() += amount;
    }
}

fn one() -> Quantity {
    Quantity::from_value(1)
}

fn amounts(texts: Option<&BTreeMap<String, Text>>) -> ResourceList {
    let texts = texts.into_iter().flatten();
    texts
        .filter_map(|(name, text)| Some((name.clone(), Quantity::parse(&text.0).ok()?)))
        .collect()
}

/// The usage of a pod: `pods`, and until it is terminal its requests and limits.
pub(super) fn pod(pod: &Pod, now: Timestamp) -> ResourceList {
    let mut used = ResourceList::new();
    if counts_toward_quota(pod, now) {
        used.insert("pods".to_string(), one());
        for (name, amount) in total(pod, |r| r.requests.as_ref()) {
            let native = is_native(&name);
            if native || name.starts_with("hugepages-") {
                used.insert(name.clone(), amount);
            }
            used.insert(format!("requests.{name}"), amount);
        }
        for (name, amount) in total(pod, |r| r.limits.as_ref()) {
            if is_native(&name) {
                used.insert(format!("limits.{name}"), amount);
            }
        }
    }
    used.insert("count/pods".to_string(), one());
    used
}

fn is_native(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
}

/// Whether a pod is neither terminal nor past its deletion grace period.
fn counts_toward_quota(pod: &Pod, now: Timestamp) -> bool {
    let marked = pod.metadata.deletion_timestamp.as_ref().map(|t| t.0);
    let grace = pod.metadata.deletion_grace_period_seconds;
    let outlived = marked.zip(grace).is_some_and(|(marked, grace)| {
        let end = marked.checked_add(SignedDuration::from_secs(grace));
        end.is_ok_and(|end| now > end)
    });
    !pods::is_terminal(pod) && !outlived
}

type Resources = k8s_openapi::api::core::v1::ResourceRequirements;

/// The effective amounts of a pod: the sum of containers that run at the same time, or the largest
/// init container.
fn total(pod: &Pod, of: fn(&Resources) -> Option<&BTreeMap<String, Text>>) -> ResourceList {
    let Some(spec) = &pod.spec else {
        return ResourceList::new();
    };
    let asked = |c: &Container| amounts(c.resources.as_ref().and_then(of));
    let mut running = ResourceList::new();
    spec.containers
        .iter()
        .for_each(|c| add(&mut running, asked(c)));
    // Sidecars run beside all containers after them.
    let (mut sidecars, mut starting) = (ResourceList::new(), ResourceList::new());
    for container in spec.init_containers.iter().flatten() {
        let mut together = sidecars.clone();
        add(&mut together, asked(container));
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars = together.clone();
        }
        raise(&mut starting, &together);
    }
    add(&mut running, sidecars);
    raise(&mut running, &starting);
    for (name, amount) in amounts(spec.resources.as_ref().and_then(of)) {
        running.insert(name, amount);
    }
    let overhead = amounts(spec.overhead.as_ref());
    let known: ResourceList = overhead
        .into_iter()
        .filter(|(name, _)| running.contains_key(name))
        .collect();
    add(&mut running, known);
    running
}

/// Raises every amount to at least that in `other`.
fn raise(amounts: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        let known = amounts.entry(name.clone()).or_default();
        *known = (*known).max(*amount);
    }
}

/// The usage of a Service: itself, its node ports, its load balancer.
pub(super) fn service(service: &Service) -> ResourceList {
    let spec = service.spec.clone().unwrap_or_default();
    let ports = spec.ports.map_or(0, |p| p.len() as i64);
    let (node_ports, balancers) = match spec.type_.as_deref() {
        Some("NodePort") => (ports, 0),
        Some("LoadBalancer") if spec.allocate_load_balancer_node_ports == Some(false) => (0, 1),
        Some("LoadBalancer") => (ports, 1),
        _ => (0, 0),
    };
    [
        ("count/services", 1),
        ("services", 1),
        ("services.nodeports", node_ports),
        ("services.loadbalancers", balancers),
    ]
    .map(|(name, count)| (name.to_string(), Quantity::from_value(count)))
    .into()
}

/// The usage of a PersistentVolumeClaim, in total and by storage class.
pub(super) fn claim(claim: &PersistentVolumeClaim) -> ResourceList {
    let spec = claim.spec.clone().unwrap_or_default();
    let beta = claim
        .annotations()
        .get("volume.beta.kubernetes.io/storage-class");
    let class = beta
        .cloned()
        .or(spec.storage_class_name)
        .filter(|c| !c.is_empty());
    let asked = amounts(spec.resources.and_then(|r| r.requests).as_ref());
    let given = claim
        .status
        .as_ref()
        .and_then(|s| s.allocated_resources.as_ref());
    let given = amounts(given).get("storage").copied().unwrap_or_default();
    let storage = asked.get("storage").map(|asked| (*asked).max(given));
    let mut used = ResourceList::from([("count/persistentvolumeclaims".to_string(), one())]);
    let fields = [
        ("persistentvolumeclaims", Some(one())),
        ("requests.storage", storage),
    ];
    for (name, amount) in fields {
        let Some(amount) = amount else { continue };
        used.insert(name.to_string(), amount);
        if let Some(class) = &class {
            used.insert(format!("{class}{CLASS}{name}"), amount);
        }
    }
    used
}

/// Whether a pod matches the scopes of a quota.
pub(super) fn in_scope(quota: &ResourceQuotaSpec, pod: &Pod) -> bool {
    let plain = quota.scopes.iter().flatten();
    let plain = plain.map(|name| ScopedResourceSelectorRequirement {
        scope_name: name.clone(),
        operator: "Exists".to_string(),
        values: None,
    });
    let selector = quota.scope_selector.iter();
    let selected = selector
        .flat_map(|s| s.match_expressions.iter().flatten())
        .cloned();
    plain
        .chain(selected)
        .all(|scope| pod_matches_scope(&scope, pod))
}

/// Whether a quota has any scope; a scoped quota counts only pods.
pub(super) fn is_scoped(quota: &ResourceQuotaSpec) -> bool {
    quota.scopes.as_ref().is_some_and(|s| !s.is_empty()) || quota.scope_selector.is_some()
}

fn pod_matches_scope(scope: &ScopedResourceSelectorRequirement, pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else {
        return false;
    };
    let ends = spec.active_deadline_seconds.is_some();
    let quality = pod.status.as_ref().and_then(|s| s.qos_class.as_deref());
    let values = scope.values.as_deref().unwrap_or_default();
    let class = spec.priority_class_name.as_deref().unwrap_or_default();
    let listed = values.iter().any(|v| v == class);
    match scope.scope_name.as_str() {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => quality == Some("BestEffort"),
        "NotBestEffort" => quality != Some("BestEffort"),
        "PriorityClass" => match scope.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => !class.is_empty(),
            "DoesNotExist" => class.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(used: &ResourceList) -> Vec<String> {
        used.iter()
            .map(|(name, amount)| format!("{name}={amount}"))
            .collect()
    }

    #[test]
    fn pod_usage_counts_concurrent_containers() {
        let now = Timestamp::UNIX_EPOCH;
        let cpu = |name: &str, cpu: &str| json!({"name": name, "resources": {"requests": {"cpu": cpu, "nvidia.com/gpu": "1"}}});
        let mut sidecar = cpu("s", "1");
        sidecar["restartPolicy"] = "Always".into();
        let spec = json!({
            "initContainers": [sidecar, cpu("i", "5")],
            "containers": [cpu("a", "1500m"), cpu("b", "500m")],
        });
        let mut running: Pod = serde_json::from_value(json!({"spec": spec})).unwrap();
        assert_eq!(
            shown(&pod(&running, now)),
            [
                "count/pods=1",
                "cpu=6",
                "pods=1",
                "requests.cpu=6",
                "requests.nvidia.com/gpu=3"
            ],
        );
        running.status = serde_json::from_value(json!({"phase": "Succeeded"})).unwrap();
        assert_eq!(shown(&pod(&running, now)), ["count/pods=1"]);
    }

    #[test]
    fn quota_names_resolve_to_resources() {
        let resolved = |name: &str| {
            let (group, plural) = resource_of(name);
            format!("{plural}.{group}")
        };
        assert_eq!(resolved("requests.nvidia.com/gpu"), "pods.");
        assert_eq!(resolved("count/jobs.batch"), "jobs.batch");
        assert_eq!(
            resolved("fast.storageclass.storage.k8s.io/requests.storage"),
            "persistentvolumeclaims."
        );
    }
}
