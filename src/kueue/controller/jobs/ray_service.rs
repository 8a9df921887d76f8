//! The RayService integration (`ray.io/v1`).

use std::collections::BTreeMap;

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kueue_lab_controller_runtime::{ObjectKey, WorkQueue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::child_ray_cluster;
use super::error::JobError;
use super::generic_job::{JobKind, JobResult, ManagedBy, PodSetCounts};
use super::integration_context::IntegrationContext;
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_sets_error::PodSetsError;
use super::ray_cluster::is_managed;
use super::ray_cluster_spec::{KUBERAY_CONTROLLER, RayClusterSpec};
use super::ray_cluster_validation::{self, TemplatePaths};
use crate::job_annotations;
use crate::jobs::webhooks::{Denial, base_webhook, validation};
use kueue_lab_api::conditions::is_condition_true;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::field::{FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

/// A RayService with the fields that Kueue reads; others are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RayService {
    /// Standard metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: RayServiceSpec,
    /// The observed state.
    #[serde(default)]
    pub status: RayServiceStatuses,
}

kueue_lab_codec::impl_codec!(RayService);
kueue_lab_codec::impl_resource!(namespaced RayService "ray.io" "v1" "rayservices");

/// The spec of a RayService.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RayServiceSpec {
    /// The cluster that serves.
    #[serde(rename = "rayClusterConfig")]
    pub ray_cluster_spec: RayClusterSpec,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a RayService.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RayServiceStatuses {
    /// Conditions, such as Ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// The cluster that serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_service_status: Option<RayServiceStatus>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The status of a cluster of a RayService.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RayServiceStatus {
    /// Name of the RayCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ray_cluster_name: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl RayServiceStatuses {
    fn is_ready(&self) -> bool {
        let conditions = self.conditions.as_deref().unwrap_or_default();
        is_condition_true(conditions, "Ready")
    }

    fn active_cluster_name(&self) -> &str {
        let active = self.active_service_status.as_ref();
        let name = active.and_then(|status| status.ray_cluster_name.as_deref());
        name.unwrap_or_default()
    }
}

/// The RayService integration.
pub(crate) struct RayServiceKind;

#[async_trait]
impl JobKind for RayServiceKind {
    type Object = RayService;
    const FRAMEWORK: &'static str = "ray.io/rayservice";

    fn managed_by(service: &mut RayService) -> Option<(ManagedBy<'_>, &'static str)> {
        Some((
            ManagedBy::Other(&mut service.spec.other),
            KUBERAY_CONTROLLER,
        ))
    }

    fn is_suspended(service: &RayService) -> bool {
        service.spec.ray_cluster_spec.is_suspended()
    }

    fn suspend(service: &mut RayService) {
        service.spec.ray_cluster_spec.suspend = Some(true);
    }

    fn run_with_pod_sets_info(
        service: &mut RayService,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError> {
        let cluster = &mut service.spec.ray_cluster_spec;
        cluster.run_with_all_pod_sets_info(infos, gates)
    }

    fn restore_pod_sets_info(service: &mut RayService, infos: &[PodSetInfo]) {
        let cluster = &mut service.spec.ray_cluster_spec;
        cluster.restore_all_pod_sets_info(infos);
    }

    fn finished(_service: &RayService) -> Option<JobResult> {
        None
    }

    fn pod_sets(service: &RayService, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError> {
        let annotations = service.metadata.annotations.as_ref();
        let cluster = &service.spec.ray_cluster_spec;
        cluster.build_pod_sets(annotations, gates)
    }

    fn is_active(service: &RayService) -> bool {
        service.status.is_ready()
    }

    fn pods_ready(service: &RayService) -> bool {
        service.status.is_ready()
    }

    /// A terminating service keeps its Workload while a Job may clean up Redis.
    fn skip(env: &IntegrationContext, service: &RayService) -> bool {
        let annotations = service.metadata.annotations.as_ref();
        let cluster = &service.spec.ray_cluster_spec;
        env.enabled(Feature::DeferRayServiceFinalizationForRedisCleanup)
            && service.metadata.deletion_timestamp.is_some()
            && cluster.is_gcs_fault_tolerance_enabled(annotations)
    }

    fn workload_name_extra_part(service: &RayService) -> String {
        child_ray_cluster::workload_name_extra_part(&service.metadata)
    }

    async fn pod_set_counts(
        env: &IntegrationContext,
        service: &RayService,
    ) -> Result<PodSetCounts, JobError> {
        let (meta, spec) = (&service.metadata, &service.spec.ray_cluster_spec);
        let name = service.status.active_cluster_name();
        child_ray_cluster::pod_set_counts(env, meta, spec, name).await
    }

    async fn custom_annotations(
        env: &IntegrationContext,
        service: &RayService,
    ) -> Result<BTreeMap<String, String>, JobError> {
        let name = service.status.active_cluster_name();
        child_ray_cluster::custom_annotations(env, &service.metadata, name).await
    }

    fn watch(env: &IntegrationContext, queue: &WorkQueue<ObjectKey>) {
        child_ray_cluster::watch(env, Self::GVK, queue);
    }

    async fn default(
        env: &IntegrationContext,
        _namespace: &str,
        service: &mut RayService,
    ) -> Result<(), Denial> {
        if job_annotations::is_elastic(&service.metadata, &env.gates) {
            service.spec.ray_cluster_spec.gate_templates();
        }
        Ok(())
    }

    async fn validate_create(
        env: &IntegrationContext,
        _namespace: &str,
        service: &RayService,
    ) -> Result<FieldErrors, Denial> {
        let (meta, cluster) = (&service.metadata, &service.spec.ray_cluster_spec);
        // The name of the Go field, not of the JSON field.
        let path = Path::new("spec").child("rayClusterSpec");
        let mut errors = FieldErrors::new();
        if is_managed(env, meta) {
            errors.extend(ray_cluster_validation::validate_create(
                env, meta, cluster, &path,
            ));
        }
        errors.extend(validation::validate_job_on_create(env, meta, &Self::GVK));
        let pod_sets = base_webhook::job_pod_sets::<Self>(env, service).await;
        errors.extend(ray_cluster_validation::validate_topology_request(
            env,
            cluster,
            pod_sets,
            &TemplatePaths::new(path),
        )?);
        Ok(errors)
    }

    async fn validate_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &RayService,
        old: &RayService,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_ray_or_spark_job_on_update::<Self>(env, namespace, new, old).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_cluster_of_a_service_is_suspended_and_ready_is_a_condition() {
        let template = json!({"spec": {"containers": []}});
        let mut service: RayService = serde_json::from_value(json!({
            "metadata": {"name": "s"},
            "spec": {"serveConfigV2": "x", "rayClusterConfig": {"headGroupSpec": {"template": template}}},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }))
        .unwrap();
        RayServiceKind::suspend(&mut service);
        let value = serde_json::to_value(&service).unwrap();
        assert_eq!(value["spec"]["rayClusterConfig"]["suspend"], true);
        assert_eq!(value["spec"]["serveConfigV2"], "x");
        assert!(RayServiceKind::is_active(&service) && RayServiceKind::pods_ready(&service));
        assert_eq!(RayServiceKind::finished(&service), None);
    }
}
