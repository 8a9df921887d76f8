//! Pod requests, as the Kubernetes scheduler computes them.
//!
//! Must not depend on LimitRanges or defaults; see [`super::limit_range`].

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};

use crate::resources::{Decimal, Requests, ResourceList, ResourceName};

/// Exact quantities by resource.
pub type ExactList = BTreeMap<ResourceName, Decimal>;

/// The exact quantities of a resource list.
pub fn exact(list: &ResourceList) -> ExactList {
    list.iter()
        .map(|(n, q)| (ResourceName::new(n), Decimal::parse_lossy(q)))
        .collect()
}

fn requests_of(container: &Container) -> Option<&ResourceList> {
    container.resources.as_ref()?.requests.as_ref()
}

fn add(total: &mut ExactList, list: Option<&ResourceList>) {
    for (name, quantity) in list.into_iter().flatten() {
        let sum = total.entry(ResourceName::new(name)).or_default();
        *sum = sum.plus(Decimal::parse_lossy(quantity));
    }
}

fn raise(total: &mut ExactList, minimum: &ExactList) {
    for (&name, &quantity) in minimum {
        let current = total.entry(name).or_insert(quantity);
        *current = (*current).max(quantity);
    }
}

/// Whether a resource is supported at pod level.
fn is_pod_level(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

/// The requests of one pod: the sum over containers and sidecars, at least the requests of each
/// init container with the sidecars started before it; pod-level requests replace both; overhead is
/// added.
pub(crate) fn pod_requests_exact(spec: &PodSpec) -> ExactList {
    let mut total = ExactList::new();
    for container in &spec.containers {
        add(&mut total, requests_of(container));
    }
    let mut sidecars = ExactList::new();
    let mut init = ExactList::new();
    for container in spec.init_containers.iter().flatten() {
        let requests = requests_of(container);
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut total, requests);
            add(&mut sidecars, requests);
            raise(&mut init, &sidecars);
        } else {
            let mut running = sidecars.clone();
            add(&mut running, requests);
            raise(&mut init, &running);
        }
    }
    raise(&mut total, &init);

    let pod_level = spec.resources.as_ref().and_then(|r| r.requests.as_ref());
    for (name, quantity) in pod_level
        .into_iter()
        .flatten()
        .filter(|(n, _)| is_pod_level(n))
    {
        total.insert(ResourceName::new(name), Decimal::parse_lossy(quantity));
    }
    add(&mut total, spec.overhead.as_ref());
    total
}

/// The requests of one pod in integers; see [`pod_requests_exact`].
pub fn pod_requests(spec: &PodSpec) -> Requests {
    Requests::from_exact(&pod_requests_exact(spec))
}

/// The requests of one pod of a template; empty if the template has no spec.
pub(crate) fn pod_template_requests(template: &PodTemplateSpec) -> Requests {
    template.spec.as_ref().map(pod_requests).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn requests(spec: serde_json::Value) -> Requests {
        pod_requests(&serde_json::from_value(spec).unwrap())
    }

    fn container(cpu: &str) -> serde_json::Value {
        json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn containers_are_summed_and_init_containers_are_a_minimum() {
        let r = requests(json!({
            "containers": [container("1"), container("500m")],
            "initContainers": [container("3"), {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}, container("1")],
        }));
        // Containers 1.5 + sidecar 1 = 2.5; the first init container alone needs 3.
        assert_eq!(r.get("cpu".into()), 3000);
    }

    #[test]
    fn pod_level_requests_replace_and_overhead_adds() {
        let r = requests(json!({
            "containers": [container("4")],
            "resources": {"requests": {"cpu": "2", "example.com/gpu": "8"}},
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        }));
        assert_eq!(r.get("cpu".into()), 2100);
        assert_eq!(r.get("memory".into()), 1 << 20);
        assert_eq!(r.get("example.com/gpu".into()), 0);
    }
}
