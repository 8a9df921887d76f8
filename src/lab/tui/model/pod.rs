//! Pods: requests, node, and Workload.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use super::meta::{Meta, Requests, add_requests, requests_of};
use super::{ObjectKey, Row};
use crate::text::{Amount, sanitize};
use kueue_lab_api::constants::{
    POD_GROUP_NAME_LABEL, POD_GROUP_TOTAL_COUNT_ANNOTATION, WORKLOAD_ANNOTATION,
};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// The node it is bound to; empty if unbound.
    pub node: String,
    /// Its phase.
    pub phase: String,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it has scheduling gates.
    pub gated: bool,
    /// The message of the scheduler, if unschedulable.
    pub unschedulable: Option<String>,
    /// Its effective requests.
    pub requests: Requests,
    /// The Workload in its annotation.
    pub workload: Option<String>,
    /// The total count of its pod group.
    pub pod_group_total_count: Option<usize>,
    /// UIDs of its owners.
    pub owners: Vec<String>,
}

impl PodRow {
    /// Converts a Pod.
    pub fn of(pod: &Pod) -> Self {
        let spec = pod.spec.as_ref();
        let status = pod.status.as_ref();
        let annotation = |name: &str| pod.metadata.annotations.as_ref()?.get(name).cloned();
        let label = |name: &str| pod.metadata.labels.as_ref()?.get(name).cloned();
        Self {
            meta: Meta::of(&pod.metadata),
            node: sanitize(
                spec.and_then(|s| s.node_name.as_deref())
                    .unwrap_or_default(),
            ),
            phase: sanitize(status.and_then(|s| s.phase.as_deref()).unwrap_or("Pending")),
            ready: status
                .and_then(|s| s.conditions.as_ref())
                .into_iter()
                .flatten()
                .any(|c| c.type_ == "Ready" && c.status == "True"),
            gated: spec
                .and_then(|s| s.scheduling_gates.as_ref())
                .is_some_and(|gates| !gates.is_empty()),
            unschedulable: status
                .and_then(|s| s.conditions.as_ref())
                .into_iter()
                .flatten()
                .find(|c| c.type_ == "PodScheduled" && c.reason.as_deref() == Some("Unschedulable"))
                .map(|c| sanitize(c.message.as_deref().unwrap_or_default())),
            requests: spec.map(pod_requests).unwrap_or_default(),
            workload: annotation(WORKLOAD_ANNOTATION)
                .or_else(|| label(POD_GROUP_NAME_LABEL))
                .map(|name| sanitize(&name)),
            pod_group_total_count: annotation(POD_GROUP_TOTAL_COUNT_ANNOTATION)
                .filter(|_| label(POD_GROUP_NAME_LABEL).is_some())
                .and_then(|count| count.parse().ok()),
            owners: pod
                .metadata
                .owner_references
                .iter()
                .flatten()
                .map(|o| sanitize(&o.uid))
                .collect(),
        }
    }

    /// Whether it has succeeded or failed.
    pub fn is_terminal(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }
}

impl Row for PodRow {
    fn key(&self) -> &ObjectKey {
        &self.meta.key
    }
}

/// The effective requests of a pod: the larger of containers plus sidecars and of init containers,
/// plus the pod overhead. Limits count where requests are missing.
pub(crate) fn pod_requests(spec: &PodSpec) -> Requests {
    let mut running = Requests::new();
    for container in &spec.containers {
        add_requests(&mut running, &container_requests(container), 1);
    }
    let mut sidecars = Requests::new();
    let mut starting = Requests::new();
    for init in spec.init_containers.iter().flatten() {
        let own = container_requests(init);
        let mut now = sidecars.clone();
        add_requests(&mut now, &own, 1);
        max_requests(&mut starting, &now);
        if init.restart_policy.as_deref() == Some("Always") {
            add_requests(&mut sidecars, &own, 1);
        }
    }
    add_requests(&mut running, &sidecars, 1);
    max_requests(&mut running, &starting);
    if let Some(overhead) = &spec.overhead {
        add_requests(&mut running, &requests_of(overhead), 1);
    }
    running
}

/// The requests of a container.
fn container_requests(container: &Container) -> Requests {
    let Some(resources) = &container.resources else {
        return Requests::new();
    };
    let mut out = requests_of(resources.limits.iter().flatten());
    out.extend(requests_of(resources.requests.iter().flatten()));
    out
}

/// Raises each amount to that of another list.
fn max_requests(to: &mut Requests, at_least: &Requests) {
    for (name, amount) in at_least {
        let have = to.entry(name.clone()).or_insert(Amount::ZERO);
        *have = (*have).max(*amount);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_occupies_the_most_it_ever_needs() {
        let spec: PodSpec = serde_json::from_value(json!({
            "initContainers": [
                {"name": "fetch", "resources": {"requests": {"cpu": "4"}}},
                {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
            ],
            "containers": [
                {"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "2", "cpu": "8"}}},
                {"name": "b", "resources": {"requests": {"cpu": "2"}}},
            ],
            "overhead": {"cpu": "250m"},
        }))
        .unwrap();
        let requests = pod_requests(&spec);
        assert_eq!(requests["cpu"], Amount::milli(4250));
        assert_eq!(requests["nvidia.com/gpu"], Amount::units(2));
    }
}
