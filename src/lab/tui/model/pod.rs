//! Pods: requests, node, and Workload.

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::meta::{Meta, Requests};
use super::{ObjectKey, Row};
use crate::text::sanitize;
use kueue_lab_api::constants::{
    POD_GROUP_NAME_LABEL, POD_GROUP_TOTAL_COUNT_ANNOTATION, WORKLOAD_ANNOTATION,
};
use kueue_lab_component_helpers::resource;

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

/// The requests of a pod.
fn pod_requests(spec: &PodSpec) -> Requests {
    requests_of_resources(resource::pod_requests(spec))
}

/// The requests of a pod of a template, whose limits count where requests are missing.
pub(crate) fn pod_template_requests(spec: &PodSpec) -> Requests {
    requests_of_resources(resource::pod_template_requests(spec))
}

fn requests_of_resources(list: resource::ResourceList<'_>) -> Requests {
    list.into_iter()
        .map(|(name, quantity)| (sanitize(name), quantity.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::Amount;

    #[test]
    fn resources_of_the_pod_count_in_place_of_those_of_its_containers() {
        let spec: PodSpec = serde_json::from_value(json!({
            "containers": [{"name": "a", "resources": {
                "requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "2", "cpu": "8"}}}],
            "resources": {"requests": {"cpu": "4"}},
            "overhead": {"cpu": "250m"},
        }))
        .unwrap();
        assert_eq!(pod_requests(&spec)["cpu"], Amount::milli(4250));
        let template = pod_template_requests(&spec);
        assert_eq!(template["cpu"], Amount::milli(4250));
        assert_eq!(template["nvidia.com/gpu"], Amount::units(2));
    }
}
