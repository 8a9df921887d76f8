//! The RayCluster integration (`ray.io/v1`).

use async_trait::async_trait;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::JobError;
use super::generic_job::{JobKind, JobResult, ManagedBy};
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError, gate};
use super::pod_sets_error::PodSetsError;
use super::ray_cluster_spec::{KUBERAY_CONTROLLER, RayClusterSpec};
use super::ray_cluster_validation::{
    TemplatePaths, validate_ray_cluster_topology_request, validate_worker_groups,
};
use crate::job_annotations;
use crate::jobs::webhooks::{Denial, base_webhook, validation};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

/// The state of a cluster whose pods are all ready.
pub(crate) const READY: &str = "ready";
/// A RayCluster with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RayCluster {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: RayClusterSpec,
    /// The observed state.
    #[serde(default)]
    pub status: RayClusterStatus,
}

kueue_lab_codec::impl_codec!(RayCluster);
kueue_lab_codec::impl_resource!(namespaced RayCluster "ray.io" "v1" "rayclusters");

/// The status of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RayClusterStatus {
    /// The state, such as [`READY`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl RayClusterStatus {
    /// Whether all pods of the cluster are ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.state.as_deref() == Some(READY)
    }
}

/// Whether a Ray job is managed by Kueue according to its own fields.
pub(crate) fn is_managed(env: &IntegrationContext, meta: &ObjectMeta) -> bool {
    env.manage_jobs_without_queue_name() || !job_annotations::queue_name(meta).is_empty()
}

/// The RayCluster integration.
pub(crate) struct RayClusterKind;

#[async_trait]
impl JobKind for RayClusterKind {
    type Object = RayCluster;
    const FRAMEWORK: &'static str = "ray.io/raycluster";

    fn managed_by(cluster: &mut RayCluster) -> Option<(ManagedBy<'_>, &'static str)> {
        Some((
            ManagedBy::Field(&mut cluster.spec.managed_by),
            KUBERAY_CONTROLLER,
        ))
    }

    fn is_suspended(cluster: &RayCluster) -> bool {
        cluster.spec.is_suspended()
    }

    fn suspend(cluster: &mut RayCluster) {
        cluster.spec.suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        cluster: &mut RayCluster,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        cluster.spec.run_with_all_pod_sets_info(infos, gates)
    }

    fn restore_pod_sets_info(cluster: &mut RayCluster, infos: &[PodSetInfo]) {
        cluster.spec.restore_all_pod_sets_info(infos);
    }

    fn finished(_cluster: &RayCluster) -> Option<JobResult> {
        None
    }

    fn pod_sets(cluster: &RayCluster, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let annotations = cluster.metadata.annotations.as_ref();
        cluster.spec.build_pod_sets(annotations, gates)
    }

    fn is_active(cluster: &RayCluster) -> bool {
        cluster.status.is_ready()
    }

    fn pods_ready(cluster: &RayCluster) -> bool {
        cluster.status.is_ready()
    }

    async fn default(
        env: &IntegrationContext,
        _namespace: &str,
        cluster: &mut RayCluster,
    ) -> Result<(), Denial> {
        if job_annotations::is_elastic(&cluster.metadata, &env.gates) {
            cluster.spec.gate_templates();
        }
        Ok(())
    }

    async fn validate_create(
        env: &IntegrationContext,
        _namespace: &str,
        cluster: &RayCluster,
    ) -> Result<FieldErrors, Denial> {
        let (path, mut errors) = (Path::new("spec"), FieldErrors::new());
        if is_managed(env, &cluster.metadata) {
            errors.extend(validate_autoscaling(env, cluster, &path));
            errors.extend(validate_worker_groups(&cluster.spec, &path));
        }
        errors.extend(validation::validate_job_on_create(
            env,
            &cluster.metadata,
            &Self::GVK,
        ));
        errors.extend(validate_ray_cluster_topology_request(
            env,
            &cluster.spec,
            Self::pod_sets(cluster, &env.gates).map_err(JobError::from),
            &TemplatePaths::new(path),
        )?);
        Ok(errors)
    }

    async fn validate_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &RayCluster,
        old: &RayCluster,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_ray_or_spark_job_on_update::<Self>(env, namespace, new, old).await
    }
}

/// Validates that an autoscaled cluster is elastic, and that the pods of an elastic one are gated.
fn validate_autoscaling(
    env: &IntegrationContext,
    cluster: &RayCluster,
    path: &Path,
) -> FieldErrors {
    let (spec, mut errors) = (&cluster.spec, FieldErrors::new());
    let autoscaling = path.child("enableInTreeAutoscaling");
    if !job_annotations::is_elastic(&cluster.metadata, &env.gates) {
        if spec.is_autoscaled() {
            let detail = format!(
                "a kueue-managed RayCluster can use autoscaling only as an elastic job: enable the ElasticJobsViaWorkloadSlices feature gate and set the {:?}: {:?} annotation",
                c::ELASTIC_JOB_ANNOTATION,
                c::ELASTIC_JOB_VALUE
            );
            errors.push(FieldError::invalid(&autoscaling, true, detail));
        }
        return errors;
    }
    let mut validate_gate = |template: &PodTemplateSpec, group: &Path| {
        let gates = template
            .spec
            .as_ref()
            .and_then(|spec| spec.scheduling_gates.as_ref());
        let wanted = gate(c::ELASTIC_JOB_SCHEDULING_GATE);
        if gates.is_none_or(|gates| !gates.contains(&wanted)) {
            let path = group
                .child("template")
                .child("spec")
                .child("schedulingGates");
            let detail = "an elastic job must have the ElasticJobSchedulingGate";
            errors.push(FieldError::invalid(&path, &gates, detail));
        }
    };
    for (i, group) in spec.worker_group_specs.iter().enumerate() {
        validate_gate(&group.template, &path.child("workerGroupSpecs").index(i));
    }
    validate_gate(&spec.head_group_spec.template, &path.child("headGroupSpec"));
    if spec.is_autoscaled() && spec.managed_by.as_deref() == Some(c::MULTI_KUEUE_CONTROLLER) {
        let detail =
            "in-tree autoscaling is not supported for a MultiKueue-managed elastic RayCluster";
        errors.push(FieldError::forbidden(&autoscaling, detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cluster_is_never_finished() {
        let cluster: RayCluster = serde_json::from_value(json!({
            "metadata": {"name": "c"},
            "spec": {"suspend": true, "headGroupSpec": {"template": {"spec": {"containers": []}}}},
            "status": {"state": "failed", "reason": "x", "desiredCPU": "1"},
        }))
        .unwrap();
        assert_eq!(RayClusterKind::finished(&cluster), None);
        assert!(!RayClusterKind::is_active(&cluster) && RayClusterKind::is_suspended(&cluster));
    }

    #[test]
    fn infos_of_another_number_of_groups_are_rejected_and_not_restored() {
        let mut cluster = RayCluster::default();
        let before = cluster.clone();
        let infos = vec![PodSetInfo::default(); 2];
        RayClusterKind::restore_pod_sets_info(&mut cluster, &infos);
        assert_eq!(cluster, before);
        let run =
            RayClusterKind::run_with_pod_sets_info(&mut cluster, &infos, &FeatureGates::default());
        assert_eq!(run, Err(PodSetInfoError::Length { want: 1, got: 2 }));
    }
}
