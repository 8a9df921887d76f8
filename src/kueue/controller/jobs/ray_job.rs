//! The RayJob integration (`ray.io/v1`).

use std::collections::BTreeMap;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_controller_runtime::{ObjectKey, WorkQueue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::child_ray_cluster;
use super::error::JobError;
use super::generic_job::{JobKind, JobResult, ManagedBy, PodSetCounts};
use super::go_pod_template;
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use super::pod_sets_error::PodSetsError;
use super::ray_cluster::{RayClusterStatus, is_managed};
use super::ray_cluster_spec::{
    KUBERAY_CONTROLLER, RayClusterSpec, merge_into_template, restore_template,
};
use super::ray_cluster_validation::{self, TemplatePaths};
use crate::jobs::webhooks::{Denial, base_webhook, validation};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

/// A Kubernetes Job submits the Ray job.
const K8S_JOB_MODE: &str = "K8sJobMode";
/// A container of the head pod submits the Ray job.
const SIDECAR_MODE: &str = "SidecarMode";
const SUBMITTER_POD_SET_NAME: &str = "submitter";
const SUBMITTER_CONTAINER_NAME: &str = "ray-job-submitter";

/// A RayJob with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RayJob {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: RayJobSpec,
    /// The observed state.
    #[serde(default)]
    pub status: RayJobStatus,
}

kueue_lab_codec::impl_codec!(RayJob);
kueue_lab_codec::impl_resource!(namespaced RayJob "ray.io" "v1" "rayjobs");

/// The spec of a RayJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RayJobSpec {
    /// The cluster to create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ray_cluster_spec: Option<RayClusterSpec>,
    /// The template of the submitter pod; KubeRay has a default.
    #[serde(deserialize_with = "go_pod_template::deserialize_optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitter_pod_template: Option<PodTemplateSpec>,
    /// Selects an existing cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<BTreeMap<String, String>>,
    /// The submission mode of the Ray job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission_mode: Option<String>,
    /// Whether the cluster is deleted when the job is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_after_job_finishes: Option<bool>,
    /// Whether the job is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a RayJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RayJobStatus {
    /// The state of the Ray job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_status: Option<String>,
    /// The state of the RayJob; New if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_deployment_status: Option<String>,
    /// Details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The RayCluster of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ray_cluster_name: Option<String>,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ray_cluster_status: Option<RayClusterStatus>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl RayJobSpec {
    fn has_mode(&self, mode: &str) -> bool {
        self.submission_mode.as_deref() == Some(mode)
    }

    fn has_cluster_selector(&self) -> bool {
        self.cluster_selector
            .as_ref()
            .is_some_and(|selector| !selector.is_empty())
    }

    /// The number of pod sets: those of the cluster, then the submitter.
    fn expected_pod_sets_count(&self) -> usize {
        let cluster = self.ray_cluster_spec.as_ref();
        let submitters = usize::from(self.has_mode(K8S_JOB_MODE));
        cluster.map_or(0, RayClusterSpec::expected_pod_sets_count) + submitters
    }

    /// The template of the submitter pod, or KubeRay's default: a container with the image of the
    /// head.
    fn submitter_template(&self) -> PodTemplateSpec {
        if let Some(template) = &self.submitter_pod_template {
            return template.clone();
        }
        let head = self.ray_cluster_spec.as_ref().and_then(|cluster| {
            let spec = cluster.head_group_spec.template.spec.as_ref()?;
            spec.containers.first()
        });
        let container = Container {
            image: head.and_then(|head| head.image.clone()),
            ..submitter_container()
        };
        PodTemplateSpec {
            metadata: Some(ObjectMeta::default()),
            spec: Some(PodSpec {
                containers: vec![container],
                restart_policy: Some("Never".to_owned()),
                ..Default::default()
            }),
        }
    }
}

impl RayJobStatus {
    fn deployment_status(&self) -> &str {
        self.job_deployment_status.as_deref().unwrap_or_default()
    }

    fn cluster_name(&self) -> &str {
        self.ray_cluster_name.as_deref().unwrap_or_default()
    }
}

/// The container that submits the Ray job, with KubeRay's default resources.
fn submitter_container() -> Container {
    let list = |cpu: &str, memory: &str| {
        let entry = |name: &str, text: &str| (name.to_owned(), Quantity(text.to_owned()));
        Some([entry("cpu", cpu), entry("memory", memory)].into())
    };
    Container {
        name: SUBMITTER_CONTAINER_NAME.to_owned(),
        resources: Some(ResourceRequirements {
            limits: list("1", "1Gi"),
            requests: list("500m", "200Mi"),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The RayJob integration.
pub(crate) struct RayJobKind;

#[async_trait]
impl JobKind for RayJobKind {
    type Object = RayJob;
    const FRAMEWORK: &'static str = "ray.io/rayjob";

    fn managed_by(job: &mut RayJob) -> Option<(ManagedBy<'_>, &'static str)> {
        Some((ManagedBy::Other(&mut job.spec.other), KUBERAY_CONTROLLER))
    }

    fn is_suspended(job: &RayJob) -> bool {
        job.spec.suspend == Some(true)
    }

    fn suspend(job: &mut RayJob) {
        job.spec.suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        job: &mut RayJob,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let want = job.spec.expected_pod_sets_count();
        if want != infos.len() {
            let got = infos.len();
            return Err(PodSetInfoError::Length { want, got });
        }
        // False is not encoded.
        job.spec.suspend = None;
        if let Some(cluster) = &mut job.spec.ray_cluster_spec {
            cluster.run_with_pod_sets_info(infos, gates)?;
        }
        if let (true, Some(info)) = (job.spec.has_mode(K8S_JOB_MODE), infos.last()) {
            let mut template = job.spec.submitter_template();
            merge_into_template(&mut template, info, gates)?;
            job.spec.submitter_pod_template = Some(template);
        }
        Ok(())
    }

    /// A submitter template that [`Self::run_with_pod_sets_info`] added stays, restored.
    fn restore_pod_sets_info(job: &mut RayJob, infos: &[PodSetInfo]) {
        if job.spec.expected_pod_sets_count() != infos.len() {
            return;
        }
        if let Some(cluster) = &mut job.spec.ray_cluster_spec {
            cluster.restore_pod_sets_info(infos);
        }
        if job.spec.has_mode(K8S_JOB_MODE)
            && let (Some(template), Some(info)) =
                (&mut job.spec.submitter_pod_template, infos.last())
        {
            restore_template(template, info);
        }
    }

    fn finished(job: &RayJob) -> Option<JobResult> {
        let ended = ["Failed", "Complete"].contains(&job.status.deployment_status());
        ended.then(|| JobResult {
            success: job.status.job_status.as_deref() == Some("SUCCEEDED"),
            message: job.status.message.clone().unwrap_or_default(),
        })
    }

    fn pod_sets(job: &RayJob, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let cluster = job.spec.ray_cluster_spec.as_ref();
        let cluster = cluster.ok_or(PodSetsError::NoRayClusterSpec)?;
        let mut pod_sets = cluster.build_pod_sets(job.metadata.annotations.as_ref(), gates)?;
        if job.spec.has_mode(K8S_JOB_MODE) {
            let template = job.spec.submitter_template();
            pod_sets.push(PodSet {
                name: SUBMITTER_POD_SET_NAME.to_owned(),
                topology_request: pod_set_topology_request(
                    template.metadata.as_ref(),
                    TopologyIndexLabels::default(),
                    gates,
                )?,
                template: template.into(),
                count: 1,
                min_count: None,
            });
        }
        if job.spec.has_mode(SIDECAR_MODE)
            && let Some(head) = pod_sets.first_mut()
        {
            // KubeRay ignores the submitter template in this mode.
            let template = std::sync::Arc::make_mut(&mut head.template);
            let containers = &mut template.spec.get_or_insert_default().containers;
            containers.push(submitter_container());
        }
        Ok(pod_sets)
    }

    fn is_active(job: &RayJob) -> bool {
        !["Suspended", ""].contains(&job.status.deployment_status())
    }

    fn pods_ready(job: &RayJob) -> bool {
        let cluster = job.status.ray_cluster_status.as_ref();
        cluster.is_some_and(RayClusterStatus::is_ready)
    }

    /// A job on an existing cluster is not managed.
    fn skip(_env: &IntegrationContext, job: &RayJob) -> bool {
        job.spec.has_cluster_selector()
    }

    fn is_on_hold(job: &RayJob) -> bool {
        job.status.deployment_status() == "ValidationFailed"
    }

    fn workload_name_extra_part(job: &RayJob) -> String {
        child_ray_cluster::workload_name_extra_part(&job.metadata)
    }

    async fn pod_set_counts(
        env: &IntegrationContext,
        job: &RayJob,
    ) -> Result<PodSetCounts, JobError> {
        let (Some(spec), name) = (&job.spec.ray_cluster_spec, job.status.cluster_name()) else {
            return Ok(PodSetCounts::new());
        };
        child_ray_cluster::pod_set_counts(env, &job.metadata, spec, name).await
    }

    async fn custom_annotations(
        env: &IntegrationContext,
        job: &RayJob,
    ) -> Result<BTreeMap<String, String>, JobError> {
        child_ray_cluster::custom_annotations(env, &job.metadata, job.status.cluster_name()).await
    }

    fn watch(env: &IntegrationContext, queue: &WorkQueue<ObjectKey>) {
        child_ray_cluster::watch(env, Self::GVK, queue);
    }

    async fn validate_create(
        env: &IntegrationContext,
        _namespace: &str,
        job: &RayJob,
    ) -> Result<FieldErrors, Denial> {
        let (path, mut errors) = (Path::new("spec"), FieldErrors::new());
        let cluster_path = path.child("rayClusterSpec");
        if is_managed(env, &job.metadata) {
            let spec = &job.spec;
            let Some(cluster) = spec
                .ray_cluster_spec
                .as_ref()
                .filter(|_| !spec.has_cluster_selector())
            else {
                return Ok(validate_without_own_cluster(spec, &path));
            };
            let shutdown = spec.shutdown_after_job_finishes == Some(true);
            if !shutdown {
                let detail = "a kueue managed job should delete the cluster after finishing";
                let path = path.child("shutdownAfterJobFinishes");
                errors.push(FieldError::invalid(&path, shutdown, detail));
            }
            errors.extend(ray_cluster_validation::validate_create(
                env,
                &job.metadata,
                cluster,
                &cluster_path,
            ));
        }
        errors.extend(validation::validate_job_on_create(
            env,
            &job.metadata,
            &Self::GVK,
        ));
        if let Some(cluster) = &job.spec.ray_cluster_spec {
            let pod_sets = base_webhook::job_pod_sets::<Self>(env, job).await;
            errors.extend(ray_cluster_validation::validate_topology_request(
                env,
                cluster,
                pod_sets,
                &TemplatePaths::new(cluster_path),
            )?);
        }
        Ok(errors)
    }

    async fn validate_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &RayJob,
        old: &RayJob,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_ray_or_spark_job_on_update::<Self>(env, namespace, new, old).await
    }
}

/// Validates a job that uses an existing cluster, or none.
fn validate_without_own_cluster(spec: &RayJobSpec, path: &Path) -> FieldErrors {
    if !spec.has_cluster_selector() {
        let detail =
            "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector";
        return vec![FieldError::required(&path.child("rayClusterSpec"), detail)];
    }
    if spec.ray_cluster_spec.is_none() {
        return FieldErrors::new();
    }
    let detail = "a kueue managed job should not use an existing cluster";
    let path = path.child("clusterSelector");
    vec![FieldError::invalid(&path, &spec.cluster_selector, detail)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(mode: &str) -> RayJob {
        let template = json!({"spec": {"containers": [{"name": "c", "image": "ray"}]}});
        serde_json::from_value(json!({
            "metadata": {"name": "j"},
            "spec": {"suspend": true, "submissionMode": mode, "entrypoint": "x", "rayClusterSpec": {
                "headGroupSpec": {"template": template},
                "workerGroupSpecs": [{"groupName": "g", "replicas": 2, "template": template}]}},
        }))
        .unwrap()
    }

    fn names(job: &RayJob) -> Vec<String> {
        let sets = RayJobKind::pod_sets(job, &FeatureGates::default()).unwrap();
        sets.into_iter().map(|set| set.name).collect()
    }

    #[test]
    fn submission_mode_determines_the_submitter() {
        assert_eq!(names(&job("HTTPMode")), ["head", "g"]);
        assert_eq!(names(&job(K8S_JOB_MODE)), ["head", "g", "submitter"]);
        let sidecar = job(SIDECAR_MODE);
        assert_eq!(names(&sidecar), ["head", "g"]);
        let sets = RayJobKind::pod_sets(&sidecar, &FeatureGates::default()).unwrap();
        let containers = &sets[0].template.spec.as_ref().unwrap().containers;
        assert_eq!(containers[1].name, SUBMITTER_CONTAINER_NAME);
    }

    #[test]
    fn a_default_submitter_template_stays_after_a_stop() {
        let (gates, mut job) = (FeatureGates::default(), job(K8S_JOB_MODE));
        let sets = RayJobKind::pod_sets(&job, &gates).unwrap();
        let restored: Vec<_> = sets.iter().map(PodSetInfo::from_pod_set).collect();
        let info = PodSetInfo {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            ..Default::default()
        };
        RayJobKind::run_with_pod_sets_info(&mut job, &vec![info; 3], &gates).unwrap();
        assert!(!RayJobKind::is_suspended(&job));
        RayJobKind::restore_pod_sets_info(&mut job, &restored);
        let template = job.spec.submitter_pod_template.clone().unwrap();
        assert_eq!(template.metadata.unwrap().labels, None);
        assert_eq!(
            template.spec.unwrap().containers[0].image.as_deref(),
            Some("ray")
        );
        let again = RayJobKind::pod_sets(&job, &gates).unwrap();
        assert_eq!(again, sets);
    }

    #[test]
    fn deployment_status_determines_active_finished_and_on_hold() {
        let with = |status: &str| {
            let mut job = job("HTTPMode");
            job.status.job_deployment_status = Some(status.to_owned());
            job.status.job_status = Some("SUCCEEDED".to_owned());
            job
        };
        assert!(!RayJobKind::is_active(&with("")) && !RayJobKind::is_active(&with("Suspended")));
        assert!(RayJobKind::is_active(&with("Suspending")));
        assert!(RayJobKind::finished(&with("Complete")).is_some_and(|end| end.success));
        assert!(RayJobKind::finished(&with("Running")).is_none());
        assert!(RayJobKind::is_on_hold(&with("ValidationFailed")));
    }
}
