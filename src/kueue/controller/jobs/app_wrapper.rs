//! The AppWrapper integration (`workload.codeflare.dev/v1beta2`).

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{PodSchedulingGate, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::app_wrapper_pod_sets::{
    AppWrapperPodSetError, SUB_GROUP_COUNT, SUB_GROUP_INDEX_LABEL, TAS_POD_INDEX_LABEL,
    infer_pod_sets, pod_template_spec,
};
use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets_error::PodSetsError;
use kueue_lab_api::conditions::is_condition_true;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::v1beta2::PodSet;

/// An AppWrapper with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AppWrapper {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: AppWrapperSpec,
    /// The observed state.
    #[serde(default)]
    pub status: AppWrapperStatus,
}

kueue_lab_codec::impl_codec!(AppWrapper);
kueue_lab_codec::impl_resource!(namespaced AppWrapper "workload.codeflare.dev" "v1beta2" "appwrappers");

/// The spec of an AppWrapper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppWrapperSpec {
    /// The wrapped objects.
    pub components: Vec<AppWrapperComponent>,
    /// Whether the AppWrapper is suspended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One wrapped object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppWrapperComponent {
    /// Its pod sets; optional for kinds whose pod sets are known.
    #[serde(rename = "podSets", skip_serializing_if = "Vec::is_empty")]
    pub declared_pod_sets: Vec<AppWrapperPodSet>,
    /// The pod set infos that admission adds to the pods of each pod set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_set_infos: Vec<AppWrapperPodSetInfo>,
    /// The object.
    pub template: Value,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A set of pods of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppWrapperPodSet {
    /// Number of pods; defaults to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The path of the pod template in the component.
    pub path: String,
    /// Labels with indexes of pods, for topologies.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl AppWrapperPodSet {
    fn sub_group_count(&self) -> Option<i32> {
        let text = self.annotations.get(SUB_GROUP_COUNT)?;
        let count: Option<i64> = text.parse().ok();
        // Go converts the parsed integer to 32 bits.
        count.map(|count| count as i32)
    }
}

/// Additions to the pods of a pod set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppWrapperPodSetInfo {
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Node selector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Scheduling gates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scheduling_gates: Vec<PodSchedulingGate>,
}

impl From<&PodSetInfo> for AppWrapperPodSetInfo {
    fn from(info: &PodSetInfo) -> Self {
        Self {
            annotations: info.annotations.clone(),
            labels: info.labels.clone(),
            node_selector: info.node_selector.clone(),
            tolerations: info.tolerations.clone(),
            scheduling_gates: info.scheduling_gates.clone(),
        }
    }
}

/// The status of an AppWrapper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppWrapperStatus {
    /// The phase, such as Running.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Conditions, such as QuotaReserved.
    pub conditions: Vec<Condition>,
    /// The status of each component.
    pub component_status: Vec<AppWrapperComponentStatus>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AppWrapperComponentStatus {
    /// The pod sets, declared or inferred.
    pub pod_sets: Vec<AppWrapperPodSet>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl AppWrapper {
    /// The pod sets of each component: of the status if it is set, otherwise declared or inferred.
    fn component_pod_sets(&self) -> Result<Vec<Vec<AppWrapperPodSet>>, AppWrapperPodSetError> {
        let known = &self.status.component_status;
        if known.len() == self.spec.components.len() {
            return Ok(known.iter().map(|c| c.pod_sets.clone()).collect());
        }
        let components = self.spec.components.iter();
        components
            .map(|c| match c.declared_pod_sets.is_empty() {
                true => infer_pod_sets(&c.template),
                false => Ok(c.declared_pod_sets.clone()),
            })
            .collect()
    }
}

/// The AppWrapper integration.
pub(crate) struct AppWrapperKind;

#[async_trait]
impl JobKind for AppWrapperKind {
    type Object = AppWrapper;
    const FRAMEWORK: &'static str = "workload.codeflare.dev/appwrapper";

    fn managed_by(wrapper: &mut AppWrapper) -> Option<(ManagedBy<'_>, &'static str)> {
        let fields = &mut wrapper.spec.other;
        Some((
            ManagedBy::Other(fields),
            "workload.codeflare.dev/appwrapper-controller",
        ))
    }

    fn is_suspended(wrapper: &AppWrapper) -> bool {
        wrapper.spec.suspend
    }

    fn suspend(wrapper: &mut AppWrapper) {
        wrapper.spec.suspend = true;
    }

    fn run_with_pod_sets_info(
        wrapper: &mut AppWrapper,
        infos: &[PodSetInfo],
        _gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let pod_sets = wrapper.component_pod_sets().unwrap_or_default();
        let want = pod_sets.iter().map(Vec::len).sum();
        if want != infos.len() {
            return Err(PodSetInfoError::PodSets {
                want,
                got: infos.len(),
            });
        }
        let mut infos = infos.iter();
        for (component, pod_sets) in wrapper.spec.components.iter_mut().zip(&pod_sets) {
            let own = infos.by_ref().take(pod_sets.len());
            component.pod_set_infos = own.map(AppWrapperPodSetInfo::from).collect();
        }
        wrapper.spec.suspend = false;
        Ok(())
    }

    fn restore_pod_sets_info(wrapper: &mut AppWrapper, _infos: &[PodSetInfo]) {
        for component in &mut wrapper.spec.components {
            component.pod_set_infos.clear();
        }
    }

    fn finished(wrapper: &AppWrapper) -> Option<JobResult> {
        let (success, message) = match wrapper.status.phase.as_str() {
            "Succeeded" => (true, "AppWrapper finished successfully"),
            // Its resources are still being deleted.
            "Failed" if is_condition_true(&wrapper.status.conditions, "ResourcesDeployed") => {
                return None;
            }
            "Failed" => (false, "AppWrapper failed"),
            _ => return None,
        };
        let message = message.to_owned();
        Some(JobResult { success, message })
    }

    fn pod_sets(wrapper: &AppWrapper, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let name = wrapper.metadata.name.as_deref().unwrap_or_default();
        let all = wrapper.component_pod_sets()?;
        let mut pod_sets = Vec::new();
        for (component, of_component) in wrapper.spec.components.iter().zip(&all) {
            for pod_set in of_component {
                // A path without a pod template has no pods.
                let Ok(template) = pod_template_spec(&component.template, &pod_set.path) else {
                    continue;
                };
                let label = |key: &str| pod_set.annotations.get(key).map(String::as_str);
                let indexes = TopologyIndexLabels {
                    pod_index_label: label(TAS_POD_INDEX_LABEL),
                    sub_group_index_label: label(SUB_GROUP_INDEX_LABEL),
                    sub_group_count: pod_set.sub_group_count(),
                };
                pod_sets.push(PodSet {
                    name: format!("{name}-{}", pod_sets.len()).to_lowercase(),
                    topology_request: pod_set_topology_request(
                        template.metadata.as_ref(),
                        indexes,
                        gates,
                    )?,
                    template: Arc::new(template),
                    count: pod_set.replicas.unwrap_or(1),
                    min_count: None,
                });
            }
        }
        Ok(pod_sets)
    }

    fn is_active(wrapper: &AppWrapper) -> bool {
        is_condition_true(&wrapper.status.conditions, "QuotaReserved")
    }

    fn pods_ready(wrapper: &AppWrapper) -> bool {
        is_condition_true(&wrapper.status.conditions, "PodsReady")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrapper(paths: &[&str]) -> AppWrapper {
        let pod_sets: Vec<_> = paths.iter().map(|path| json!({"path": path})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "Wrap"},
            "spec": {"managedBy": "x", "components": [{
                "podSets": pod_sets,
                "template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {
                    "parallelism": 3, "completions": 2,
                    "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}},
            }]},
        }))
        .unwrap()
    }

    #[test]
    fn pod_sets_are_declared_or_inferred() {
        let gates = FeatureGates::default();
        let shown = |wrapper: &AppWrapper| {
            let sets = AppWrapperKind::pod_sets(wrapper, &gates).unwrap();
            let shown = sets.iter().map(|s| (s.name.clone(), s.count));
            shown.collect::<Vec<_>>()
        };
        assert_eq!(shown(&wrapper(&[])), [("wrap-0".to_owned(), 2)]);
        let declared = wrapper(&["template.spec.template"]);
        assert_eq!(shown(&declared), [("wrap-0".to_owned(), 1)]);
        assert!(shown(&wrapper(&["template.nowhere"])).is_empty());
    }

    #[test]
    fn infos_are_kept_beside_the_component() {
        let (gates, mut wrapper) = (FeatureGates::default(), wrapper(&[]));
        let before = wrapper.clone();
        let info = PodSetInfo {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            ..PodSetInfo::default()
        };
        AppWrapperKind::run_with_pod_sets_info(&mut wrapper, std::slice::from_ref(&info), &gates)
            .unwrap();
        assert_eq!(
            wrapper.spec.components[0].pod_set_infos[0].labels,
            info.labels
        );
        AppWrapperKind::restore_pod_sets_info(&mut wrapper, &[]);
        assert_eq!(wrapper, before);
        let error = AppWrapperKind::run_with_pod_sets_info(&mut wrapper, &[], &gates).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid podset infos: expecting 1 podsets, got 0"
        );
    }

    #[test]
    fn a_failed_wrapper_is_finished_once_its_resources_are_deleted() {
        let mut wrapper = wrapper(&[]);
        wrapper.status.phase = "Failed".to_owned();
        assert!(!AppWrapperKind::finished(&wrapper).unwrap().success);
        let condition = json!({"type": "ResourcesDeployed", "status": "True", "reason": "r",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        wrapper.status.conditions = vec![serde_json::from_value(condition).unwrap()];
        assert_eq!(AppWrapperKind::finished(&wrapper), None);
    }
}
