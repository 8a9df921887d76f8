//! The kinds of objects that are recorded.

use std::borrow::Cow;

use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::config::FRAMEWORKS;
use kueue_lab_api::v1beta2::API_VERSION as KUEUE;
use serde::{Deserialize, Serialize};

/// A kind of objects that is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedKind {
    /// Group and version, such as `batch/v1`.
    pub api_version: Cow<'static, str>,
    /// The kind, such as `Job`.
    pub kind: Cow<'static, str>,
    /// The name of the resource in URLs, such as `jobs`.
    pub plural: Cow<'static, str>,
}

const fn kind(api_version: &'static str, kind: &'static str, plural: &'static str) -> RecordedKind {
    RecordedKind {
        api_version: Cow::Borrowed(api_version),
        kind: Cow::Borrowed(kind),
        plural: Cow::Borrowed(plural),
    }
}

/// The recorded kinds except those of jobs: what the terminal UI shows, and what admission depends on.
pub const RECORDED_KINDS: &[RecordedKind] = &[
    kind("v1", "Namespace", "namespaces"),
    kind("v1", "ConfigMap", "configmaps"),
    kind("v1", "LimitRange", "limitranges"),
    kind("v1", "Node", "nodes"),
    kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses"),
    kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"),
    kind("resource.k8s.io/v1", "DeviceClass", "deviceclasses"),
    kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices"),
    kind(
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
    ),
    kind("resource.k8s.io/v1", "ResourceClaim", "resourceclaims"),
    kind(KUEUE, "Topology", "topologies"),
    kind(KUEUE, "ResourceFlavor", "resourceflavors"),
    kind(KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses"),
    kind(KUEUE, "AdmissionCheck", "admissionchecks"),
    kind(
        KUEUE,
        "ProvisioningRequestConfig",
        "provisioningrequestconfigs",
    ),
    kind(KUEUE, "MultiKueueConfig", "multikueueconfigs"),
    kind(KUEUE, "MultiKueueCluster", "multikueueclusters"),
    kind(KUEUE, "Cohort", "cohorts"),
    kind(KUEUE, "ClusterQueue", "clusterqueues"),
    kind(KUEUE, "LocalQueue", "localqueues"),
    kind(
        "skypilot.kueue-lab.dev/v1alpha1",
        "ManagedJob",
        "managedjobs",
    ),
    kind("v1", "PodTemplate", "podtemplates"),
    kind(
        "autoscaling.x-k8s.io/v1",
        "ProvisioningRequest",
        "provisioningrequests",
    ),
    kind("apps/v1", "ReplicaSet", "replicasets"),
    kind(KUEUE, "Workload", "workloads"),
    kind("v1", "Pod", "pods"),
    kind("v1", "Event", "events"),
];

/// The objects of a kind that are recorded, if not all: namespace and names.
pub(crate) const RECORDED_CONFIG_MAPS: (&str, [&str; 2]) = (
    "kueue-system",
    ["kueue-manager-config", "kueue-lab-presets"],
);

impl RecordedKind {
    /// All recorded kinds: [`RECORDED_KINDS`] and those of Kueue's integrations.
    pub fn all() -> Vec<Self> {
        let mut all = RECORDED_KINDS.to_vec();
        for framework in FRAMEWORKS {
            let group = framework.group;
            let api_version = match group {
                "" => framework.version.to_owned(),
                group => format!("{group}/{}", framework.version),
            };
            let kind = Self {
                api_version: api_version.into(),
                kind: framework.kind.into(),
                plural: framework.resource.into(),
            };
            if !all.contains(&kind) {
                all.push(kind);
            }
        }
        all
    }

    /// Group and version.
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version))
    }

    /// The resource, for requests.
    pub fn api_resource(&self) -> ApiResource {
        let (group, version) = self.group_version();
        let gvk = GroupVersionKind::gvk(group, version, &self.kind);
        ApiResource::from_gvk_with_plural(&gvk, &self.plural)
    }

    /// The name of the resource with its group, such as `jobs.batch`.
    pub fn resource_name(&self) -> String {
        match self.group_version().0 {
            "" => self.plural.to_string(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// Whether its objects are in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        matches!(
            &*self.kind,
            "Namespace"
                | "Node"
                | "RuntimeClass"
                | "PriorityClass"
                | "DeviceClass"
                | "ResourceSlice"
                | "Topology"
                | "ResourceFlavor"
                | "WorkloadPriorityClass"
                | "AdmissionCheck"
                | "ProvisioningRequestConfig"
                | "MultiKueueConfig"
                | "MultiKueueCluster"
                | "Cohort"
                | "ClusterQueue"
                | "ManagedJob"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use kueue_lab_api::provisioning_request;

    #[test]
    fn no_kind_is_recorded_twice_and_secrets_are_not() {
        let all = RecordedKind::all();
        let names: BTreeSet<String> = all.iter().map(RecordedKind::resource_name).collect();
        assert_eq!(names.len(), all.len());
        assert!(!names.contains("secrets"));
        assert!(names.contains("jobs.batch") && names.contains("rayjobs.ray.io"));
        let group = provisioning_request::GROUP;
        assert!(names.contains(&format!("provisioningrequests.{group}")));
    }
}
