//! The SparkApplication integration (`sparkoperator.k8s.io/v1beta2`).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{
    Affinity, Container, PodTemplateSpec, Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::generic_job::{JobKind, JobResult};
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets_error::PodSetsError;
use super::spark_pod_template::{SparkRole, empty_pod_template, spark_pod_template};
use crate::job_annotations;
use crate::jobs::webhooks::{Denial, base_webhook, tas_validation};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

const DRIVER_POD_SET_NAME: &str = "driver";
const EXECUTOR_POD_SET_NAME: &str = "executor";

/// A SparkApplication with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SparkApplication {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: SparkApplicationSpec,
    /// The observed state.
    #[serde(default)]
    pub status: SparkApplicationStatus,
}

kueue_lab_codec::impl_codec!(SparkApplication);
kueue_lab_codec::impl_resource!(namespaced SparkApplication "sparkoperator.k8s.io" "v1beta2" "sparkapplications");

/// The spec of a SparkApplication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SparkApplicationSpec {
    /// The deploy mode, such as cluster.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// Whether the application is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The node selector of driver and executors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Volumes for driver and executors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// The driver.
    pub driver: SparkPodSpec,
    /// The executors.
    pub executor: SparkPodSpec,
    /// Dynamic allocation of executors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_allocation: Option<DynamicAllocation>,
    /// Dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deps: Option<Value>,
    /// The restart policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<Value>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The pods of the driver or of the executors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SparkPodSpec {
    /// Number of executors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<i32>,
    /// CPU request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_request: Option<String>,
    /// CPU limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_limit: Option<String>,
    /// Memory request, in Java's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Memory limit, in Java's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<String>,
    /// GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuSpec>,
    /// Labels of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Node selector of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Tolerations of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
    /// Affinity of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// The PriorityClass of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Mounts of the volumes of the application.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Init containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    /// Sidecar containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sidecars: Vec<Container>,
    /// The pod template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<PodTemplateSpec>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// GPUs of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GpuSpec {
    /// The resource name.
    pub name: String,
    /// Number of GPUs.
    pub quantity: i64,
}

/// Dynamic allocation of executors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DynamicAllocation {
    /// Whether it is enabled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enabled: bool,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a SparkApplication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SparkApplicationStatus {
    /// The state of the application.
    pub application_state: ApplicationState,
    /// The state of each executor.
    pub executor_state: BTreeMap<String, String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The state of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ApplicationState {
    /// The state, such as RUNNING.
    pub state: String,
    /// The message of a failure.
    pub error_message: String,
}

impl SparkPodSpec {
    /// Merges an info; `node_selector` replaces that of the pods.
    fn merge(
        &mut self,
        role: SparkRole,
        node_selector: Option<BTreeMap<String, String>>,
        info: &PodSetInfo,
    ) -> Result<(), PodSetInfoError> {
        let template = self
            .template
            .get_or_insert_with(|| empty_pod_template(role));
        let spec = template.spec.get_or_insert_default();
        let mut merged = PodSetInfo {
            annotations: self.annotations.take().unwrap_or_default(),
            labels: self.labels.take().unwrap_or_default(),
            node_selector: node_selector
                .or(self.node_selector.take())
                .unwrap_or_default(),
            tolerations: self.tolerations.take().unwrap_or_default(),
            scheduling_gates: spec.scheduling_gates.take().unwrap_or_default(),
            ..PodSetInfo::default()
        };
        merged.merge(info)?;
        self.set(role, &merged);
        Ok(())
    }

    /// Sets the values of an info; empty ones are absent.
    fn set(&mut self, role: SparkRole, info: &PodSetInfo) {
        let map = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone());
        self.annotations = map(&info.annotations);
        self.labels = map(&info.labels);
        self.node_selector = map(&info.node_selector);
        let (tolerations, gates) = (&info.tolerations, &info.scheduling_gates);
        self.tolerations = (!tolerations.is_empty()).then(|| tolerations.clone());
        let template = self
            .template
            .get_or_insert_with(|| empty_pod_template(role));
        let spec = template.spec.get_or_insert_default();
        spec.scheduling_gates = (!gates.is_empty()).then(|| gates.clone());
    }
}

/// The SparkApplication integration.
pub(crate) struct SparkApplicationKind;

#[async_trait]
impl JobKind for SparkApplicationKind {
    type Object = SparkApplication;
    const FRAMEWORK: &'static str = "sparkoperator.k8s.io/sparkapplication";

    fn is_suspended(app: &SparkApplication) -> bool {
        app.spec.suspend == Some(true)
    }

    fn suspend(app: &mut SparkApplication) {
        app.spec.suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        app: &mut SparkApplication,
        infos: &[PodSetInfo],
        _gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let [driver, executor] = infos else {
            return Err(PodSetInfoError::Length {
                want: 2,
                got: infos.len(),
            });
        };
        let spec = &mut app.spec;
        // The selector of the application and those of its pods are mutually exclusive.
        let shared = spec.node_selector.take();
        spec.driver
            .merge(SparkRole::Driver, shared.clone(), driver)?;
        spec.executor.merge(SparkRole::Executor, shared, executor)?;
        spec.suspend = Some(false);
        Ok(())
    }

    fn restore_pod_sets_info(app: &mut SparkApplication, infos: &[PodSetInfo]) {
        let [driver, executor] = infos else {
            return;
        };
        let spec = &mut app.spec;
        spec.driver.set(SparkRole::Driver, driver);
        spec.executor.set(SparkRole::Executor, executor);
        spec.executor.instances = Some(executor.count);
        spec.node_selector = None;
    }

    fn finished(app: &SparkApplication) -> Option<JobResult> {
        let state = &app.status.application_state;
        let success = match state.state.as_str() {
            "COMPLETED" => true,
            "FAILED" | "SUBMISSION_FAILED" => false,
            _ => return None,
        };
        let message = state.error_message.clone();
        Some(JobResult { success, message })
    }

    fn pod_sets(app: &SparkApplication, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let executors = app.spec.executor.instances.unwrap_or(0);
        let sets = [
            (SparkRole::Driver, DRIVER_POD_SET_NAME, 1),
            (SparkRole::Executor, EXECUTOR_POD_SET_NAME, executors),
        ];
        sets.into_iter()
            .map(|(role, name, count)| {
                let template = spark_pod_template(&app.spec, role)?;
                let indexes = TopologyIndexLabels::default();
                Ok(PodSet {
                    name: name.to_owned(),
                    count,
                    topology_request: pod_set_topology_request(
                        template.metadata.as_ref(),
                        indexes,
                        gates,
                    )?,
                    template: Arc::new(template),
                    min_count: None,
                })
            })
            .collect()
    }

    fn is_active(app: &SparkApplication) -> bool {
        app.status.application_state.state == "RUNNING"
    }

    fn pods_ready(app: &SparkApplication) -> bool {
        let states = app.status.executor_state.values();
        let ready = states.filter(|state| matches!(state.as_str(), "RUNNING" | "COMPLETED"));
        let expected = usize::try_from(app.spec.executor.instances.unwrap_or(0));
        // The driver runs before the executors do.
        Self::is_active(app) && ready.count() >= expected.unwrap_or(0)
    }

    async fn validate_create(
        env: &IntegrationContext,
        namespace: &str,
        app: &SparkApplication,
    ) -> Result<FieldErrors, Denial> {
        let mut errors = validate_managed(env, app);
        errors.extend(base_webhook::validate_create::<Self>(env, namespace, app).await?);
        Ok(errors)
    }

    async fn validate_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &SparkApplication,
        old: &SparkApplication,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_ray_or_spark_job_on_update::<Self>(env, namespace, new, old).await
    }

    async fn validate_on_create(
        env: &IntegrationContext,
        _namespace: &str,
        app: &SparkApplication,
    ) -> Result<FieldErrors, Denial> {
        validate_topology_request(env, app)
    }
}

/// Validates what Kueue requires of a managed application.
fn validate_managed(env: &IntegrationContext, app: &SparkApplication) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let (meta, spec) = (&app.metadata, &app.spec);
    if job_annotations::queue_name(meta).is_empty() && !env.manage_jobs_without_queue_name() {
        return errors;
    }
    let path = Path::new("spec");
    if spec.mode != "cluster" {
        let detail = "only Cluster mode is supported for a kueue managed job";
        errors.push(FieldError::invalid(&path.child("mode"), &spec.mode, detail));
    }
    let dynamic = spec.dynamic_allocation.as_ref().is_some_and(|d| d.enabled);
    if dynamic && !job_annotations::is_elastic(meta, &env.gates) {
        let path = path.child("dynamicAllocation").child("enabled");
        let detail = "a kueue managed job can use dynamicAllocation only when the ElasticJobsViaWorkloadSlices feature gate is on and the job is an elastic job";
        errors.push(FieldError::invalid(&path, &true, detail));
    }
    errors
}

fn validate_topology_request(
    env: &IntegrationContext,
    app: &SparkApplication,
) -> Result<FieldErrors, Denial> {
    let mut errors = FieldErrors::new();
    if !env.enabled(Feature::TopologyAwareScheduling) {
        return Ok(errors);
    }
    let pod_sets = SparkApplicationKind::pod_sets(app, &env.gates)?;
    for pod_set in pod_sets {
        // The pod sets have the names of the fields.
        let path = Path::new("spec").child(&pod_set.name);
        errors.extend(tas_validation::validate_pod_set(env, &path, &pod_set));
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn app() -> SparkApplication {
        serde_json::from_value(json!({
            "metadata": {"name": "a"},
            "spec": {"mode": "cluster", "sparkVersion": "4.0.0", "nodeSelector": {"arch": "x"},
                "driver": {"memory": "1g", "serviceAccount": "spark"},
                "executor": {"instances": 2, "coreRequest": "500m"}},
            "status": {"applicationState": {"state": "RUNNING"}, "executorState": {"e1": "RUNNING"}},
        }))
        .unwrap()
    }

    #[test]
    fn the_selector_of_the_application_moves_to_its_pods() {
        let (gates, mut app) = (FeatureGates::default(), app());
        let sets = SparkApplicationKind::pod_sets(&app, &gates).unwrap();
        let info = PodSetInfo {
            node_selector: [("pool".to_owned(), "batch".to_owned())].into(),
            ..PodSetInfo::default()
        };
        let infos = [info.clone(), info.clone()];
        SparkApplicationKind::run_with_pod_sets_info(&mut app, &infos, &gates).unwrap();
        assert_eq!(app.spec.node_selector, None);
        let selector = app.spec.executor.node_selector.clone().unwrap();
        assert_eq!((selector.len(), selector["arch"].as_str()), (2, "x"));
        assert_eq!(app.spec.other["sparkVersion"], "4.0.0");
        let infos: Vec<_> = sets.iter().map(PodSetInfo::from_pod_set).collect();
        SparkApplicationKind::restore_pod_sets_info(&mut app, &infos);
        assert_eq!(app.spec.executor.node_selector, None);
        let error = SparkApplicationKind::run_with_pod_sets_info(&mut app, &[info], &gates);
        assert!(error.is_err());
    }

    #[test]
    fn pods_are_ready_once_the_executors_are() {
        let mut app = app();
        assert!(!SparkApplicationKind::pods_ready(&app));
        app.spec.executor.instances = None;
        assert!(SparkApplicationKind::pods_ready(&app));
        app.status.application_state.state = "FAILED".to_owned();
        assert!(!SparkApplicationKind::pods_ready(&app));
        assert!(!SparkApplicationKind::finished(&app).unwrap().success);
    }
}
