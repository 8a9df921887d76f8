//! [`RayClusterSpec`]: the cluster of a RayCluster, a RayJob and a RayService, and its pod sets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodTemplateSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as QuantityText;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::go_pod_template;
use super::pod_set_info::{PodSetInfo, PodSetInfoError, gate, merge_into, restore_pod_spec};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets_error::PodSetsError;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::PodSet;
use kueue_lab_quantity::Quantity;

/// The pod set of the head group.
pub(crate) const HEAD_GROUP_POD_SET_NAME: &str = "head";
/// The annotation that enables GCS fault tolerance.
const FT_ENABLED_ANNOTATION: &str = "ray.io/ft-enabled";
/// The container that KubeRay adds to the head pod for in-tree autoscaling.
const AUTOSCALER_CONTAINER_NAME: &str = "autoscaler";

/// The value of `managedBy` of KubeRay.
pub(crate) const KUBERAY_CONTROLLER: &str = "ray.io/kuberay-operator";

/// A cluster with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RayClusterSpec {
    /// The head group.
    pub head_group_spec: HeadGroupSpec,
    /// The worker groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worker_group_specs: Vec<WorkerGroupSpec>,
    /// Whether the Ray autoscaler scales the worker groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_in_tree_autoscaling: Option<bool>,
    /// Options of the autoscaler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaler_options: Option<AutoscalerOptions>,
    /// Fault tolerance of the global control store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcs_fault_tolerance_options: Option<Value>,
    /// Whether the cluster is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The controller that manages the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The head group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HeadGroupSpec {
    /// The template of the head pod.
    #[serde(deserialize_with = "go_pod_template::deserialize")]
    pub template: PodTemplateSpec,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A group of workers with one template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkerGroupSpec {
    /// Name of the group.
    pub group_name: String,
    /// Number of replicas; defaults to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Number of pods per replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_of_hosts: Option<i32>,
    /// The template of the workers.
    #[serde(deserialize_with = "go_pod_template::deserialize")]
    pub template: PodTemplateSpec,
    /// The workers to delete; Go encodes it also if it is empty.
    pub scale_strategy: Map<String, Value>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Options of the autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AutoscalerOptions {
    /// Resources of its container.
    #[serde(deserialize_with = "go_pod_template::deserialize_resources")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl WorkerGroupSpec {
    /// The name of its pod set.
    pub(crate) fn pod_set_name(&self) -> String {
        self.group_name.to_lowercase()
    }

    /// The number of pods of the group.
    pub(crate) fn effective_worker_count(&self) -> i32 {
        let hosts = self.num_of_hosts.unwrap_or(0).max(1);
        self.replicas.unwrap_or(1).saturating_mul(hosts)
    }
}

impl RayClusterSpec {
    /// The number of pod sets.
    pub(crate) fn expected_pod_sets_count(&self) -> usize {
        self.worker_group_specs.len() + 1
    }

    /// Whether in-tree autoscaling is enabled.
    pub(crate) fn is_autoscaled(&self) -> bool {
        self.enable_in_tree_autoscaling == Some(true)
    }

    /// Whether the cluster is suspended.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }

    /// Whether GCS fault tolerance is enabled, by the spec or an annotation of its object.
    pub(crate) fn is_gcs_fault_tolerance_enabled(
        &self,
        annotations: Option<&BTreeMap<String, String>>,
    ) -> bool {
        let annotation = annotations.and_then(|map| map.get(FT_ENABLED_ANNOTATION));
        annotation.is_some_and(|text| text.to_lowercase() == "true")
            || self.gcs_fault_tolerance_options.is_some()
    }

    /// The pod sets: the head, then the worker groups. Includes what KubeRay adds to the pods.
    ///
    /// # Errors
    /// A topology annotation cannot be parsed, or the head has no container.
    pub(crate) fn build_pod_sets(
        &self,
        annotations: Option<&BTreeMap<String, String>>,
        gates: &FeatureGates,
    ) -> Result<Vec<PodSet>, PodSetsError> {
        let mut head = self.head_group_spec.template.clone();
        let topology_request = pod_set_topology_request(
            head.metadata.as_ref(),
            TopologyIndexLabels::default(),
            gates,
        )?;
        let containers = &mut head.spec.get_or_insert_default().containers;
        if self.is_gcs_fault_tolerance_enabled(annotations) {
            account_for_redis_cleanup(containers)?;
        }
        if self.is_autoscaled() {
            containers.push(self.autoscaler_container());
        }
        let mut pod_sets = vec![PodSet {
            name: HEAD_GROUP_POD_SET_NAME.to_owned(),
            topology_request,
            template: head.into(),
            count: 1,
            min_count: None,
        }];
        for group in &self.worker_group_specs {
            let template = group.template.clone();
            pod_sets.push(PodSet {
                name: group.pod_set_name(),
                topology_request: pod_set_topology_request(
                    template.metadata.as_ref(),
                    TopologyIndexLabels::default(),
                    gates,
                )?,
                template: template.into(),
                count: group.effective_worker_count(),
                min_count: None,
            });
        }
        Ok(pod_sets)
    }

    fn autoscaler_container(&self) -> Container {
        let options = self.autoscaler_options.as_ref();
        let own = options.and_then(|options| options.resources.clone());
        let defaults = || {
            let list = requests("500m", "512Mi");
            ResourceRequirements {
                limits: Some(list.clone()),
                requests: Some(list),
                ..Default::default()
            }
        };
        Container {
            name: AUTOSCALER_CONTAINER_NAME.to_owned(),
            resources: Some(own.unwrap_or_else(defaults)),
            ..Default::default()
        }
    }

    /// The pod templates, in the order of the pod sets.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut PodTemplateSpec> {
        let workers = self.worker_group_specs.iter_mut();
        std::iter::once(&mut self.head_group_spec.template)
            .chain(workers.map(|group| &mut group.template))
    }

    /// Merges the pod set infos into the pod templates.
    ///
    /// # Errors
    /// An info conflicts with a pod template.
    pub(crate) fn run_with_pod_sets_info(
        &mut self,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        for (template, info) in self.templates_mut().zip(infos) {
            merge_into_template(template, info, gates)?;
        }
        Ok(())
    }

    /// Unsuspends the cluster with the pod set infos of all its pod sets.
    ///
    /// # Errors
    /// The number of infos is another one, or an info conflicts with a pod template.
    pub(crate) fn run_with_all_pod_sets_info(
        &mut self,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let (want, got) = (self.expected_pod_sets_count(), infos.len());
        if want != got {
            return Err(PodSetInfoError::Length { want, got });
        }
        self.suspend = Some(false);
        self.run_with_pod_sets_info(infos, gates)
    }

    /// Restores the pod templates from the infos of all pod sets.
    pub(crate) fn restore_all_pod_sets_info(&mut self, infos: &[PodSetInfo]) {
        if self.expected_pod_sets_count() == infos.len() {
            self.restore_pod_sets_info(infos);
        }
    }

    /// Restores the pod templates.
    pub(crate) fn restore_pod_sets_info(&mut self, infos: &[PodSetInfo]) {
        for (template, info) in self.templates_mut().zip(infos) {
            restore_template(template, info);
        }
    }

    /// Adds the scheduling gate of elastic jobs to the pod templates.
    pub(crate) fn gate_templates(&mut self) {
        for template in self.templates_mut() {
            let spec = template.spec.get_or_insert_default();
            let gates = spec.scheduling_gates.get_or_insert_default();
            let wanted = gate(c::ELASTIC_JOB_SCHEDULING_GATE);
            if !gates.contains(&wanted) {
                gates.push(wanted);
            }
        }
    }
}

/// Merges a pod set info into a pod template.
///
/// # Errors
/// The info conflicts with the template.
pub(crate) fn merge_into_template(
    template: &mut PodTemplateSpec,
    info: &PodSetInfo,
    gates: &FeatureGates,
) -> Result<(), PodSetInfoError> {
    let meta = template.metadata.get_or_insert_default();
    merge_into(meta, template.spec.get_or_insert_default(), info, gates)
}

/// Restores a pod template.
pub(crate) fn restore_template(template: &mut PodTemplateSpec, info: &PodSetInfo) {
    let meta = template.metadata.get_or_insert_default();
    restore_pod_spec(meta, template.spec.get_or_insert_default(), info);
}

fn requests(cpu: &str, memory: &str) -> BTreeMap<String, QuantityText> {
    let entry = |name: &str, text: &str| (name.to_owned(), QuantityText(text.to_owned()));
    [entry("cpu", cpu), entry("memory", memory)].into()
}

/// Raises the requests of the Ray container to those of the Job that cleans up Redis.
fn account_for_redis_cleanup(containers: &mut [Container]) -> Result<(), PodSetsError> {
    let head = containers.first_mut();
    let head = head.ok_or(PodSetsError::NoRayContainer)?;
    let resources = head.resources.get_or_insert_default();
    let known = resources.requests.get_or_insert_default();
    for (name, least) in requests("200m", "256Mi") {
        let value = |text: &QuantityText| text.0.parse::<Quantity>().ok();
        if known
            .get(&name)
            .is_none_or(|own| value(own) < value(&least))
        {
            known.insert(name, least);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec() -> RayClusterSpec {
        let template = |cpu: &str| json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]}});
        serde_json::from_value(json!({
            "rayVersion": "2.9.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("100m")},
            "workerGroupSpecs": [
                {"groupName": "Small", "replicas": 2, "numOfHosts": 3, "template": template("1")},
                {"groupName": "unset", "minReplicas": 0, "template": template("1")},
            ],
        }))
        .unwrap()
    }

    fn head_requests(sets: &[PodSet], container: usize) -> BTreeMap<String, QuantityText> {
        let spec = sets[0].template.spec.as_ref().unwrap();
        let resources = spec.containers[container].resources.clone().unwrap();
        resources.requests.unwrap()
    }

    #[test]
    fn head_and_worker_groups_are_pod_sets() {
        let sets = spec()
            .build_pod_sets(None, &FeatureGates::default())
            .unwrap();
        let shown: Vec<_> = sets.iter().map(|s| (s.name.as_str(), s.count)).collect();
        assert_eq!(shown, [("head", 1), ("small", 6), ("unset", 1)]);
    }

    #[test]
    fn autoscaler_and_redis_cleanup_count_on_the_head() {
        let gates = FeatureGates::default();
        let mut spec = spec();
        spec.enable_in_tree_autoscaling = Some(true);
        let annotations = [(FT_ENABLED_ANNOTATION.to_owned(), "True".to_owned())].into();
        let sets = spec.build_pod_sets(Some(&annotations), &gates).unwrap();
        assert_eq!(head_requests(&sets, 0), requests("200m", "1Gi"));
        assert_eq!(head_requests(&sets, 1), requests("500m", "512Mi"));
        spec.autoscaler_options = Some(AutoscalerOptions {
            resources: Some(ResourceRequirements {
                requests: Some(requests("1", "1Gi")),
                ..Default::default()
            }),
            ..Default::default()
        });
        let sets = spec.build_pod_sets(None, &gates).unwrap();
        assert_eq!(head_requests(&sets, 0), requests("100m", "1Gi"));
        assert_eq!(head_requests(&sets, 1), requests("1", "1Gi"));
    }

    #[test]
    fn unknown_fields_are_preserved_and_templates_restored() {
        let gates = FeatureGates::default();
        let mut spec = spec();
        let before = spec.clone();
        let sets = spec.build_pod_sets(None, &gates).unwrap();
        let info = PodSetInfo {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            ..Default::default()
        };
        spec.run_with_pod_sets_info(&vec![info; 3], &gates).unwrap();
        assert_ne!(spec, before);
        let infos: Vec<_> = sets.iter().map(PodSetInfo::from_pod_set).collect();
        spec.restore_pod_sets_info(&infos);
        assert_eq!(spec, before);
        assert_eq!(spec.other["rayVersion"], "2.9.0");
    }
}
